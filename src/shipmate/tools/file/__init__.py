"""Tools over the files of the workspace, and what confines them."""
