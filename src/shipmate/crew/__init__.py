"""Members together: who may ask whom, and how their words reach each other."""
