"""The files that are the truth of what a workspace keeps beside its threads."""
