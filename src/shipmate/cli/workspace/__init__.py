"""Commands about the folder itself: what is in it, how it opens, and what goes into a prompt."""
