"""The one process that works a workspace's threads, and how others reach it."""
