"""Members that are programs of others: what they are sent, and how they are driven."""
