"""Offer tools to the model: what each does, what it touches, and how it is kept in bounds."""
