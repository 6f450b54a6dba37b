"""Telegram, spoken directly: the Bot API over HTTP."""
