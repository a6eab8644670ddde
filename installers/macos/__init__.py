"""What macOS needs beside the frozen program: the bundle's property lists and the disk image."""
