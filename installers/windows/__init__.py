"""What Windows needs beside the frozen folder: version resource, list of files, installer."""
