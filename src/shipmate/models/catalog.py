"""List the providers by name: where their keys are found, a first model, and the library they need."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Describe one provider."""

    # Environment variables that may hold its key; none means it needs no key, or has its own way to sign in.
    keys: tuple[str, ...] = ()
    # The model used when only the provider is named.
    model: str | None = None
    # The module its library is imported as, and the extra that installs it.
    needs: str | None = None
    extra: str | None = None


# Those with a model come in the order a key in the environment is looked for.
PROVIDERS: dict[str, Entry] = {
    "anthropic": Entry(("ANTHROPIC_API_KEY",), "claude-sonnet-5-5"),
    "openai": Entry(("OPENAI_API_KEY",), "gpt-5.5"),
    "openai-responses": Entry(("OPENAI_API_KEY",), "gpt-5.5"),
    "google": Entry(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-flash-latest", "google.genai", "shipmate[google]"
    ),
    "openrouter": Entry(("OPENROUTER_API_KEY",), "openrouter/auto"),
    "deepseek": Entry(("DEEPSEEK_API_KEY",), "deepseek-chat"),
    "moonshotai": Entry(("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"), "kimi-latest"),
    "zai": Entry(("ZAI_API_KEY",), "glm-5.3"),
    "mistral": Entry(("MISTRAL_API_KEY",), "mistral-large-latest", "mistralai", "pydantic-ai-slim[mistral]"),
    "groq": Entry(("GROQ_API_KEY",), "openai/gpt-oss-120b", "groq", "pydantic-ai-slim[groq]"),
    "xai": Entry(("XAI_API_KEY",), "grok-4-latest", "xai_sdk", "pydantic-ai-slim[xai]"),
    "alibaba": Entry(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    "azure": Entry(("AZURE_OPENAI_API_KEY",)),
    "azure-responses": Entry(("AZURE_OPENAI_API_KEY",)),
    "bedrock": Entry(needs="boto3", extra="pydantic-ai-slim[bedrock]"),
    "bedrock-mantle": Entry(needs="botocore", extra="pydantic-ai-slim[bedrock-mantle]"),
    "cerebras": Entry(("CEREBRAS_API_KEY",)),
    "cohere": Entry(("CO_API_KEY",), None, "cohere", "pydantic-ai-slim[cohere]"),
    "crusoe": Entry(("CRUSOE_API_KEY",)),
    "fireworks": Entry(("FIREWORKS_API_KEY",)),
    "github": Entry(("GITHUB_API_KEY",)),
    "github-copilot": Entry(),
    "google-cloud": Entry(needs="google.genai", extra="shipmate[google]"),
    "heroku": Entry(("HEROKU_INFERENCE_KEY",)),
    "huggingface": Entry(("HF_TOKEN",), None, "huggingface_hub", "pydantic-ai-slim[huggingface]"),
    "litellm": Entry(),
    "meta": Entry(("META_API_KEY",)),
    "nebius": Entry(("NEBIUS_API_KEY",)),
    "ollama": Entry(),
    "openai-chatgpt": Entry(),
    "openai-codex": Entry(),
    "openai-compatible": Entry(),
    "ovhcloud": Entry(("OVHCLOUD_API_KEY",)),
    "sambanova": Entry(("SAMBANOVA_API_KEY",)),
    "snowflake": Entry(),
    "together": Entry(("TOGETHER_API_KEY",)),
    "vercel": Entry(("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    "vllm": Entry(),
    "rehearsal": Entry(),
}
ALIASES = {"openai-chat": "openai", "gemini": "google", "claude": "anthropic", "moonshot": "moonshotai"}
