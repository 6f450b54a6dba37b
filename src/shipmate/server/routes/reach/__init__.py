"""Show what connects the workspace with platforms, and take the owner's word about it."""
