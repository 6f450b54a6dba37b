"""The Chat protocol, and the dialects it is spoken in."""
