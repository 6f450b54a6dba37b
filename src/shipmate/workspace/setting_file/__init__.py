"""Changing settings in their files, where nothing else may change."""
