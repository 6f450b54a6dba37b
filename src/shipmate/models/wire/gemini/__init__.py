"""The protocol of the Gemini API."""
