"""List the providers by name: where their keys are found, a first model, and the library they need."""

from __future__ import annotations

from typing import NamedTuple


class ProviderEntry(NamedTuple):
    """Describe one provider."""

    # Environment variables that may hold its key; none means it needs no key, or has its own way to sign in.
    keys: tuple[str, ...] = ()
    # The model used when only the provider is named.
    model: str | None = None
    # The module its library is imported as, and the extra that installs it.
    needs: str | None = None
    extra: str | None = None


# Those with a model come in the order a key in the environment is looked for.
PROVIDERS: dict[str, ProviderEntry] = {
    "anthropic": ProviderEntry(("ANTHROPIC_API_KEY",), "claude-sonnet-5-5"),
    "openai": ProviderEntry(("OPENAI_API_KEY",), "gpt-5.5"),
    "openai-responses": ProviderEntry(("OPENAI_API_KEY",), "gpt-5.5"),
    "google": ProviderEntry(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-flash-latest", "google.genai", "shipmate[google]"
    ),
    "openrouter": ProviderEntry(("OPENROUTER_API_KEY",), "openrouter/auto"),
    "deepseek": ProviderEntry(("DEEPSEEK_API_KEY",), "deepseek-chat"),
    "moonshotai": ProviderEntry(("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"), "kimi-latest"),
    "zai": ProviderEntry(("ZAI_API_KEY",), "glm-5.3"),
    "mistral": ProviderEntry(
        ("MISTRAL_API_KEY",), "mistral-large-latest", "mistralai", "pydantic-ai-slim[mistral]"
    ),
    "groq": ProviderEntry(("GROQ_API_KEY",), "openai/gpt-oss-120b", "groq", "pydantic-ai-slim[groq]"),
    "xai": ProviderEntry(("XAI_API_KEY",), "grok-4-latest", "xai_sdk", "pydantic-ai-slim[xai]"),
    "alibaba": ProviderEntry(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    "azure": ProviderEntry(("AZURE_OPENAI_API_KEY",)),
    "azure-responses": ProviderEntry(("AZURE_OPENAI_API_KEY",)),
    "bedrock": ProviderEntry(needs="boto3", extra="pydantic-ai-slim[bedrock]"),
    "bedrock-mantle": ProviderEntry(needs="botocore", extra="pydantic-ai-slim[bedrock-mantle]"),
    "cerebras": ProviderEntry(("CEREBRAS_API_KEY",)),
    "cohere": ProviderEntry(("CO_API_KEY",), None, "cohere", "pydantic-ai-slim[cohere]"),
    "crusoe": ProviderEntry(("CRUSOE_API_KEY",)),
    "fireworks": ProviderEntry(("FIREWORKS_API_KEY",)),
    "github": ProviderEntry(("GITHUB_API_KEY",)),
    "github-copilot": ProviderEntry(),
    "google-cloud": ProviderEntry(needs="google.genai", extra="shipmate[google]"),
    "heroku": ProviderEntry(("HEROKU_INFERENCE_KEY",)),
    "huggingface": ProviderEntry(("HF_TOKEN",), None, "huggingface_hub", "pydantic-ai-slim[huggingface]"),
    "litellm": ProviderEntry(),
    "meta": ProviderEntry(("META_API_KEY",)),
    "nebius": ProviderEntry(("NEBIUS_API_KEY",)),
    "ollama": ProviderEntry(),
    "openai-chatgpt": ProviderEntry(),
    "openai-codex": ProviderEntry(),
    "openai-compatible": ProviderEntry(),
    "ovhcloud": ProviderEntry(("OVHCLOUD_API_KEY",)),
    "sambanova": ProviderEntry(("SAMBANOVA_API_KEY",)),
    "snowflake": ProviderEntry(),
    "together": ProviderEntry(("TOGETHER_API_KEY",)),
    "vercel": ProviderEntry(("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    "vllm": ProviderEntry(),
    "rehearsal": ProviderEntry(),
}
ALIASES = {"openai-chat": "openai", "gemini": "google", "claude": "anthropic", "moonshot": "moonshotai"}
