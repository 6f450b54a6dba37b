"""Keep what must survive beside the threads: inbox, outbox, thread list, usage, calls, grants, search."""
