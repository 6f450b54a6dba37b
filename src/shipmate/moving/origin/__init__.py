"""What is taken from the folders of each program, one module for each."""
