"""Run keepers, attached processes, store, model, tools and clock in one process on a seeded scheduler."""
