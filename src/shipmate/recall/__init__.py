"""Ranking of texts by what somebody says: memory and skills are chosen by it."""
