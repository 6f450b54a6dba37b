"""The store in PostgreSQL, for workspaces that many machines work on."""
