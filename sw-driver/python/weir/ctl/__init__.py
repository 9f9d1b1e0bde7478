"""`weirctl`: a Weir device from the command line, with the words of tc and ip."""
