"""List the providers by name: the variables they read, a first model, and the library they need."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class ProviderEntry(NamedTuple):
    """One provider of the catalog."""

    # Environment variables that may hold its key; none means it needs no key, or has its own way to sign in.
    keys: tuple[str, ...] = ()
    # The model used when only the provider is named.
    model: str | None = None
    # The module its library is imported as, and the extra that installs it.
    needs: str | None = None
    extra: str | None = None
    # Variables that name another address than its own, and the address its library would else look up itself.
    addresses: tuple[str, ...] = ()
    home: str | None = None
    # What else its library reads from variables, by the name of its parameter.
    more: Mapping[str, str] = MappingProxyType({})
    # A key it can do without.
    is_keyless: bool = False


# Keeps a library from taking a key of the environment for an address that was given none.
NO_KEY = "api-key-not-set"
OPENAI = ProviderEntry(
    ("OPENAI_API_KEY",),
    "gpt-5.5",
    addresses=("OPENAI_BASE_URL",),
    home="https://api.openai.com/v1",
    more={
        "organization": "OPENAI_ORG_ID",
        "project": "OPENAI_PROJECT_ID",
        "headers": "OPENAI_CUSTOM_HEADERS",
    },
)
AZURE = {"api_version": "OPENAI_API_VERSION"}
# Those with a model come in the order a key in the environment is looked for.
PROVIDERS: dict[str, ProviderEntry] = {
    "anthropic": ProviderEntry(
        ("ANTHROPIC_API_KEY",),
        "claude-sonnet-5-5",
        addresses=("ANTHROPIC_BASE_URL",),
        home="https://api.anthropic.com",
        more={"headers": "ANTHROPIC_CUSTOM_HEADERS"},
    ),
    "openai": OPENAI,
    "openai-responses": OPENAI,
    "google": ProviderEntry(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-flash-latest",
        "google.genai",
        "shipmate[google]",
        addresses=("GOOGLE_GEMINI_BASE_URL",),
        home="https://generativelanguage.googleapis.com",
    ),
    "openrouter": ProviderEntry(
        ("OPENROUTER_API_KEY",),
        "openrouter/auto",
        more={"app_url": "OPENROUTER_APP_URL", "app_title": "OPENROUTER_APP_TITLE"},
    ),
    "deepseek": ProviderEntry(("DEEPSEEK_API_KEY",), "deepseek-chat"),
    "moonshotai": ProviderEntry(
        ("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"),
        "kimi-latest",
        addresses=("MOONSHOTAI_BASE_URL",),
        home="https://api.moonshot.ai/v1",
    ),
    "zai": ProviderEntry(("ZAI_API_KEY",), "glm-5.3"),
    "mistral": ProviderEntry(
        ("MISTRAL_API_KEY",), "mistral-large-latest", "mistralai", "pydantic-ai-slim[mistral]"
    ),
    "groq": ProviderEntry(
        ("GROQ_API_KEY",),
        "openai/gpt-oss-120b",
        "groq",
        "pydantic-ai-slim[groq]",
        addresses=("GROQ_BASE_URL",),
        home="https://api.groq.com",
    ),
    "xai": ProviderEntry(("XAI_API_KEY",), "grok-4-latest", "xai_sdk", "pydantic-ai-slim[xai]"),
    "alibaba": ProviderEntry(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    "azure": ProviderEntry(("AZURE_OPENAI_API_KEY",), addresses=("AZURE_OPENAI_ENDPOINT",), more=AZURE),
    "azure-responses": ProviderEntry(
        ("AZURE_OPENAI_API_KEY",), addresses=("AZURE_OPENAI_ENDPOINT",), more=AZURE
    ),
    # Amazon's and Google's own libraries sign in by files, profiles and machines, from the environment alone.
    "bedrock": ProviderEntry(needs="boto3", extra="pydantic-ai-slim[bedrock]"),
    "bedrock-mantle": ProviderEntry(needs="botocore", extra="pydantic-ai-slim[bedrock-mantle]"),
    "cerebras": ProviderEntry(("CEREBRAS_API_KEY",)),
    "cohere": ProviderEntry(
        ("CO_API_KEY",), None, "cohere", "pydantic-ai-slim[cohere]", addresses=("CO_BASE_URL",)
    ),
    "crusoe": ProviderEntry(("CRUSOE_API_KEY",)),
    "fireworks": ProviderEntry(("FIREWORKS_API_KEY",)),
    "github": ProviderEntry(("GITHUB_API_KEY",)),
    "github-copilot": ProviderEntry(
        ("GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"),
        addresses=("GITHUB_COPILOT_BASE_URL", "COPILOT_API_URL", "GITHUB_COPILOT_API_BASE"),
        home="https://api.githubcopilot.com",
        more={"integration_id": "GITHUB_COPILOT_INTEGRATION_ID"},
    ),
    "google-cloud": ProviderEntry(needs="google.genai", extra="shipmate[google]"),
    "heroku": ProviderEntry(
        ("HEROKU_INFERENCE_KEY",), addresses=("HEROKU_INFERENCE_URL",), home="https://us.inference.heroku.com"
    ),
    "huggingface": ProviderEntry(("HF_TOKEN",), None, "huggingface_hub", "pydantic-ai-slim[huggingface]"),
    "litellm": ProviderEntry(is_keyless=True),
    "meta": ProviderEntry(("META_API_KEY",)),
    "nebius": ProviderEntry(("NEBIUS_API_KEY",)),
    "ollama": ProviderEntry(("OLLAMA_API_KEY",), addresses=("OLLAMA_HOST",), is_keyless=True),
    "openai-chatgpt": ProviderEntry(),
    "openai-codex": ProviderEntry(),
    "openai-compatible": ProviderEntry(is_keyless=True),
    "ovhcloud": ProviderEntry(("OVHCLOUD_API_KEY",)),
    "sambanova": ProviderEntry(
        ("SAMBANOVA_API_KEY",), addresses=("SAMBANOVA_BASE_URL",), home="https://api.sambanova.ai/v1"
    ),
    "snowflake": ProviderEntry(("SNOWFLAKE_TOKEN",), more={"account": "SNOWFLAKE_ACCOUNT"}),
    "together": ProviderEntry(("TOGETHER_API_KEY",)),
    "vercel": ProviderEntry(("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    "vllm": ProviderEntry(("VLLM_API_KEY",), addresses=("VLLM_BASE_URL",), is_keyless=True),
    "rehearsal": ProviderEntry(),
}
ALIASES = {"openai-chat": "openai", "gemini": "google", "claude": "anthropic", "moonshot": "moonshotai"}
