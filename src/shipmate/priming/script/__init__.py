"""The priming script as Markdown: its records, the rules they keep, how it is read and written."""
