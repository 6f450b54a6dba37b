"""Perform scripts: say their user turns again, on a stage that nothing real can be reached from."""
