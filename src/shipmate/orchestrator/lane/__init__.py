"""One lane for each thread: what came in for it, one turn after another."""
