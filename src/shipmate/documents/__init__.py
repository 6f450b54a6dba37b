"""Documents of office programs and PDF files, read as text in a child process."""
