"""Tasks over HTTP."""
