"""Keep what must survive beside the threads, in files; and an index over all of them, which need not."""
