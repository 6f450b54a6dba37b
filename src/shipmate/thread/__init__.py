"""Keep conversations: the log of rows, the merging of rows into messages, and the service over both."""
