"""Try commands over a copy-on-write view of the workspace, and ask about their effects."""
