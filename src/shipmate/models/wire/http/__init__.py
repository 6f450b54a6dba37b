"""HTTP: what the client is made of, and what can go wrong on the way."""
