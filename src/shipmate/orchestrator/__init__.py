"""Drive a member: lanes, the tool loop, and the stream of chunks that is both seen and kept."""
