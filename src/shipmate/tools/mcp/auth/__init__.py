"""Log in at remote MCP servers, as the authorization part of MCP has it, and stay logged in."""
