"""What this program keeps on disk: where it lies, how much it is, moving the models, removing it all."""
