"""What passes between the core and the platforms: who is heard, what leaves, and that it leaves once."""
