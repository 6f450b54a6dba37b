"""The requests that models were sent, kept so that every turn can be opened."""
