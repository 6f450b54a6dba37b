"""Sections of ship.json that are more than a few keys."""
