"""What everyday programs do with their words."""
