"""Know the workspace: its paths, its configuration and its members."""
