"""Pages from the web: addresses that may be opened, fetching, Markdown."""
