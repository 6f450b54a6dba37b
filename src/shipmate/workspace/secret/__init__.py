"""What is secret: which values of ship.json may be shown, what lies open, and the mask over the rest."""
