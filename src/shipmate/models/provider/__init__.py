"""Models of providers, spoken to through pydantic-ai; nothing else imports it."""
