"""List the providers: the protocol each speaks, the variables it reads, its address, a first model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

WireName: TypeAlias = Literal["chat", "responses", "anthropic", "gemini"]


class ProviderEntry(NamedTuple):
    """One provider of the catalog."""

    # Environment variables that may hold its key; none means it needs no key, or has its own way to sign in.
    keys: tuple[str, ...] = ()
    # The model used when only the provider is named.
    model: str | None = None
    # The protocol it is asked in directly; None means through a library.
    wire: WireName | None = None
    # Its own address, and variables that name another one.
    home: str | None = None
    addresses: tuple[str, ...] = ()
    # The module its library is imported as, and the extra that installs it.
    needs: str = "pydantic_ai"
    extra: str = "shipmate[providers]"
    # What else belongs to a key, by the name of the library's parameter.
    more: Mapping[str, str] = MappingProxyType({})
    # A key it can do without: a server of one's own.
    is_keyless: bool = False


# Keeps a library from taking a key of the environment for an address that was given none.
NO_KEY = "api-key-not-set"
OPENAI = ProviderEntry(
    ("OPENAI_API_KEY",),
    "gpt-5.5",
    "chat",
    "https://api.openai.com/v1",
    ("OPENAI_BASE_URL",),
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
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_BASE_URL",),
        more={"headers": "ANTHROPIC_CUSTOM_HEADERS"},
    ),
    "openai": OPENAI,
    "openai-responses": OPENAI._replace(wire="responses"),
    "google": ProviderEntry(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-flash-latest",
        "gemini",
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_GEMINI_BASE_URL",),
    ),
    "openrouter": ProviderEntry(
        ("OPENROUTER_API_KEY",),
        "openrouter/auto",
        "chat",
        "https://openrouter.ai/api/v1",
        more={"app_url": "OPENROUTER_APP_URL", "app_title": "OPENROUTER_APP_TITLE"},
    ),
    "deepseek": ProviderEntry(("DEEPSEEK_API_KEY",), "deepseek-chat", "chat", "https://api.deepseek.com"),
    "moonshotai": ProviderEntry(
        ("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"),
        "kimi-latest",
        "chat",
        "https://api.moonshot.ai/v1",
        ("MOONSHOTAI_BASE_URL",),
    ),
    "zai": ProviderEntry(("ZAI_API_KEY",), "glm-5.3", "chat", "https://api.z.ai/api/paas/v4"),
    "mistral": ProviderEntry(
        ("MISTRAL_API_KEY",), "mistral-large-latest", "chat", "https://api.mistral.ai/v1"
    ),
    "groq": ProviderEntry(
        ("GROQ_API_KEY",),
        "openai/gpt-oss-120b",
        "chat",
        "https://api.groq.com/openai/v1",
        ("GROQ_BASE_URL",),
    ),
    "xai": ProviderEntry(("XAI_API_KEY",), "grok-4-latest", "chat", "https://api.x.ai/v1"),
    "alibaba": ProviderEntry(
        ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
        wire="chat",
        home="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    ),
    "azure": ProviderEntry(("AZURE_OPENAI_API_KEY",), addresses=("AZURE_OPENAI_ENDPOINT",), more=AZURE),
    "azure-responses": ProviderEntry(
        ("AZURE_OPENAI_API_KEY",), addresses=("AZURE_OPENAI_ENDPOINT",), more=AZURE
    ),
    # Amazon's and Google's own libraries sign in by files, profiles and machines, from the environment alone.
    "bedrock": ProviderEntry(needs="boto3"),
    "bedrock-mantle": ProviderEntry(needs="botocore"),
    "cerebras": ProviderEntry(("CEREBRAS_API_KEY",), wire="chat", home="https://api.cerebras.ai/v1"),
    "cohere": ProviderEntry(
        ("CO_API_KEY",), addresses=("CO_BASE_URL",), needs="cohere", extra="pydantic-ai-slim[cohere]"
    ),
    "crusoe": ProviderEntry(
        ("CRUSOE_API_KEY",), wire="chat", home="https://api.inference.crusoecloud.com/v1"
    ),
    "fireworks": ProviderEntry(
        ("FIREWORKS_API_KEY",), wire="chat", home="https://api.fireworks.ai/inference/v1"
    ),
    "github": ProviderEntry(("GITHUB_API_KEY",), wire="chat", home="https://models.github.ai/inference"),
    "github-copilot": ProviderEntry(
        ("GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"),
        home="https://api.githubcopilot.com",
        addresses=("GITHUB_COPILOT_BASE_URL", "COPILOT_API_URL", "GITHUB_COPILOT_API_BASE"),
        more={"integration_id": "GITHUB_COPILOT_INTEGRATION_ID"},
    ),
    "google-cloud": ProviderEntry(needs="google.genai"),
    "heroku": ProviderEntry(
        ("HEROKU_INFERENCE_KEY",),
        wire="chat",
        home="https://us.inference.heroku.com/v1",
        addresses=("HEROKU_INFERENCE_URL",),
    ),
    "huggingface": ProviderEntry(("HF_TOKEN",), wire="chat", home="https://router.huggingface.co/v1"),
    "litellm": ProviderEntry(wire="chat", is_keyless=True),
    "lmstudio": ProviderEntry(wire="chat", home="http://127.0.0.1:1234/v1", is_keyless=True),
    "meta": ProviderEntry(("META_API_KEY",), wire="chat", home="https://api.meta.ai/v1"),
    "nebius": ProviderEntry(("NEBIUS_API_KEY",), wire="chat", home="https://api.studio.nebius.com/v1"),
    "ollama": ProviderEntry(("OLLAMA_API_KEY",), wire="chat", addresses=("OLLAMA_HOST",), is_keyless=True),
    "openai-chatgpt": ProviderEntry(),
    "openai-codex": ProviderEntry(),
    "openai-compatible": ProviderEntry(wire="chat", is_keyless=True),
    "ovhcloud": ProviderEntry(
        ("OVHCLOUD_API_KEY",), wire="chat", home="https://oai.endpoints.kepler.ai.cloud.ovh.net/v1"
    ),
    "sambanova": ProviderEntry(
        ("SAMBANOVA_API_KEY",),
        wire="chat",
        home="https://api.sambanova.ai/v1",
        addresses=("SAMBANOVA_BASE_URL",),
    ),
    "snowflake": ProviderEntry(("SNOWFLAKE_TOKEN",), more={"account": "SNOWFLAKE_ACCOUNT"}),
    "together": ProviderEntry(("TOGETHER_API_KEY",), wire="chat", home="https://api.together.xyz/v1"),
    "vercel": ProviderEntry(
        ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
        wire="chat",
        home="https://ai-gateway.vercel.sh/v1",
    ),
    "vllm": ProviderEntry(("VLLM_API_KEY",), wire="chat", addresses=("VLLM_BASE_URL",), is_keyless=True),
    "rehearsal": ProviderEntry(),
}
ALIASES = {
    "openai-chat": "openai",
    "gemini": "google",
    "claude": "anthropic",
    "moonshot": "moonshotai",
    "lm-studio": "lmstudio",
}
