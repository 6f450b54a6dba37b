"""Show the crew: its members, their files, and how they stand to each other."""
