"""Folders made by or for other programs: what they are, and what of them is used."""
