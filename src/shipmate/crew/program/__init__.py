"""Programs of others as members: each kind, how it is started, and what it says."""
