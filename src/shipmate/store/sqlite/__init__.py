"""The index `.ship/state.db`: lists and search over the files, deleted and rebuilt at any time."""
