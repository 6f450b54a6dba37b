"""Offer the workspace to programs that start this one: editors over ACP, others over MCP."""
