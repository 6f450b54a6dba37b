"""Wires: the protocols of models, each spoken directly."""
