"""Sign people of a team in, and keep who they are, what they prove it with, and what they share."""
