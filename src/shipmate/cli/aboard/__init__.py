"""Who is aboard, who may talk, and what was not sent to them."""
