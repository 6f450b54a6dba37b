"""Moving in from other programs, and moving a whole workspace: import, export, restore, backups."""
