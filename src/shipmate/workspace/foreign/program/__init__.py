"""What each program leaves in a folder, one module for each."""
