"""Speak to models. Only this package imports pydantic-ai, and only when a provider is used."""
