"""What may happen unasked."""
