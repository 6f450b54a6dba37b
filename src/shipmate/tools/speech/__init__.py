"""Tools that speak, and that put recordings into words."""
