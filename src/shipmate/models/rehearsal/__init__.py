"""The model that needs no provider: it carries out plain words with the tools it is offered."""
