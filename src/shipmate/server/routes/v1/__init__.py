"""OpenAI's Chat Completions for programs that speak it: a member is a model."""
