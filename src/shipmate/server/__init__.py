"""Serve the HTTP API and the web page."""
