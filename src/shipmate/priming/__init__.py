"""Keep conversations as priming scripts, and start conversations from them."""
