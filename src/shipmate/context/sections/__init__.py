"""Hold the kinds of section; the `KINDS` of a module put here are found by themselves."""
