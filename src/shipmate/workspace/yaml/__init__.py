"""YAML as skills, members and scripts write it: fast where it is plain, within limits where it is not."""
