"""Say how the model that another program uses is chosen in ship.json."""

from __future__ import annotations

from shipmate.workspace.foreign.recognised import Unused

# The names of providers here, by the names others have for them; the rest speaks OpenAI's protocol.
PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "gemini": "google",
    "google": "google",
    "ollama": "ollama",
}


def describe_model(place: str, provider: str, model: str) -> Unused:
    """Return a model that another program's settings name, with the lines that choose it here."""
    head, slash, rest = model.partition("/")
    named = head if slash and provider in ("", "auto") else provider
    known = PROVIDERS.get(named)
    why = "keys of another program are not used: the model is chosen in ship.json, its key in the environment"
    if known is None:
        return Unused(
            what=f"{place}: model {model}", why=f"{why}. See docs/models.md for {named or 'its provider'}"
        )
    llm = {"provider": known, "model": rest if slash and head == named else model}
    if known != "ollama":
        llm["apiKey"] = "${" + {"google": "GEMINI"}.get(known, known.upper()) + "_API_KEY}"
    return Unused(what=f"{place}: model {model}", why=why, lines={"llm": llm})
