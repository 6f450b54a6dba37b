"""The chat: what a client sends, what comes of it, and the stream that tells it."""
