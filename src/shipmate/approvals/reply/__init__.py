"""What people's answers mean and what they decide."""
