"""Keep a long conversation within what its model reads: clear, sum up, cut, or say what is too large."""
