"""Feishu, and Lark, which is Feishu abroad."""
