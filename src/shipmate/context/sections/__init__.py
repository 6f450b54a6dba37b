"""Hold the kinds of section, one small module each; a module put here is found by itself."""
