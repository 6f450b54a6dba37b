"""Describe ship.json. The structs here are the truth; the shipped JSON Schema is made from them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shipmate.errors import UserError
from shipmate.values.message import JsonObject
from shipmate.workspace.settings.config_section import ConfigSection
from shipmate.workspace.settings.memory_rule import MemoryRule
from shipmate.workspace.settings.team_settings import BudgetSettings, TeamSettings


class Llm(ConfigSection, frozen=True, kw_only=True):
    """The model that answers."""

    provider: Annotated[
        str | None,
        Meta(
            description="anthropic, openai, openai-responses, google, ollama, openai-compatible, or rehearsal"
        ),
    ] = None
    model: Annotated[str | None, Meta(description="the provider's name for the model")] = None
    base_url: Annotated[
        str | None, Meta(description="another address that speaks the provider's protocol")
    ] = None
    api_key: Annotated[str | None, Meta(description='the key, best written as "${ANTHROPIC_API_KEY}"')] = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    reasoning: Annotated[
        Literal["none", "minimal", "low", "medium", "high"] | None,
        Meta(description="how hard the model thinks first; its provider decides when not set"),
    ] = None
    timeout_seconds: float = 120
    max_retries: Annotated[
        int, Meta(ge=0, le=10, description="attempts after the first, with growing pauses")
    ] = 3
    text_calls: Annotated[
        bool | None,
        Meta(
            description="take calls that the model writes as text for calls; "
            "by default of servers of your own only"
        ),
    ] = None
    context_window: Annotated[
        Annotated[int, Meta(ge=1000)] | None,
        Meta(description="tokens the model can read at once; the server is asked by default"),
    ] = None
    fallback: Annotated[
        tuple[Llm, ...], Meta(description="tried in order when this model stays unavailable")
    ] = ()

    def named(self, name: str) -> Llm:
        """Return the settings for the model `provider:model`; what is for this provider stays its own."""
        provider, _, model = name.partition(":")
        if not model and provider != "rehearsal":
            raise UserError(f"model {name}: write provider:model, for example anthropic:claude-sonnet-4-6.")
        llm = self
        if self.provider != provider:
            llm = msgspec.structs.replace(self, base_url=None, api_key=None, fallback=())
        return msgspec.structs.replace(llm, provider=provider, model=model or None)


class Permissions(ConfigSection, frozen=True, kw_only=True):
    """What tools may do unasked."""

    mode: Annotated[
        Literal["ask", "preview", "auto-edit", "read-only", "yolo"],
        Meta(description="what happens to a call no rule names"),
    ] = "ask"
    allow: Annotated[
        tuple[str, ...], Meta(description='for example "exec(git status)" or "write(docs/**)"')
    ] = ()
    ask: tuple[str, ...] = ()
    deny: Annotated[tuple[str, ...], Meta(description="wins over allow and ask")] = ()
    deciders: Annotated[
        Literal["initiator", "admins", "anyone"], Meta(description="who may answer an approval")
    ] = "initiator"
    admins: tuple[str, ...] = ()
    network: Annotated[bool, Meta(description="let sandboxed commands reach the network")] = False
    expires_minutes: Annotated[int, Meta(ge=1, description="how long an approval waits")] = 7 * 24 * 60
    suggest: Annotated[
        bool,
        Meta(description="let the model read unclear answers; an approval so read is confirmed first"),
    ] = False


class ContextSettings(ConfigSection, frozen=True, kw_only=True):
    """The shape of the system prompt."""

    profile: Annotated[str, Meta(description="shipmate, nanobot, zyhive, or one of `profiles`")] = "shipmate"
    profiles: Annotated[dict[str, tuple[str, ...]], Meta(description="your own lists of section names")] = {}
    instructions: Annotated[
        tuple[str, ...], Meta(description="files read as AGENTS.md is, such as CLAUDE.md")
    ] = ()
    budget_tokens: Annotated[
        int, Meta(ge=500, description="the whole system prompt; less where the model reads little")
    ] = 24_000
    section_tokens: Annotated[dict[str, int], Meta(description="a limit for one section")] = {}
    compact_at: Annotated[
        float,
        Meta(
            ge=0,
            le=0.95,
            description="at this share of the model's window old outputs leave it, then a summary takes"
            " the place of the talk; 0 never",
        ),
    ] = 0.75
    keep: Annotated[
        bool, Meta(description="keep what models are sent, secrets masked, so that turns can be opened")
    ] = True
    keep_megabytes: Annotated[int, Meta(ge=1, description="what is kept takes no more on disk")] = 256
    keep_days: Annotated[int, Meta(ge=1, le=3650, description="what is older is removed")] = 30


class Skills(ConfigSection, frozen=True, kw_only=True):
    """The skills that are offered."""

    only: Annotated[tuple[str, ...] | None, Meta(description="no others are offered")] = None
    disabled: tuple[str, ...] = ()
    paths: Annotated[tuple[str, ...], Meta(description="further folders inside the workspace")] = ()
    summary_tokens: Annotated[int, Meta(ge=100, description="room for the list of skills")] = 1_500


class McpLogin(ConfigSection, frozen=True, kw_only=True):
    """How to log in at a remote MCP server, where it cannot be found out."""

    client_id: Annotated[
        str | None, Meta(description="for servers that register no clients by themselves")
    ] = None
    client_secret: str | None = None
    scope: Annotated[
        str, Meta(description="what to ask for, when it shall be other than the server says")
    ] = ""
    redirect_port: Annotated[int, Meta(ge=0, le=65535, description="any free one when 0")] = 0


class McpServer(ConfigSection, frozen=True, kw_only=True):
    """One MCP server: a command to start, or an address."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    tools: Annotated[tuple[str, ...] | None, Meta(description="offer only these tools")] = None
    read_only: Annotated[tuple[str, ...], Meta(description="tools of this server that change nothing")] = ()
    timeout_seconds: float = 60
    login: McpLogin = McpLogin()


class Mcp(ConfigSection, frozen=True, kw_only=True):
    """The MCP servers whose tools are offered."""

    servers: dict[str, McpServer] = {}
    wait_seconds: Annotated[
        float,
        Meta(ge=0, le=60, description="how long a turn waits for servers whose tools are not known yet"),
    ] = 2.0


class Server(ConfigSection, frozen=True, kw_only=True):
    """Where the web page and the API are served."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 7447
    public_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^\s?#@]+$")] | None,
        Meta(
            description="where others reach this server; files too large for a platform get an address there"
        ),
    ] = None
    share_hours: Annotated[int, Meta(ge=1, le=720, description="for how long such an address holds")] = 24


class DeliverySettings(ConfigSection, frozen=True, kw_only=True):
    """How answers reach people on platforms."""

    ask_after_minutes: Annotated[
        int, Meta(ge=1, description="an answer that could not be sent for so long is offered, not sent")
    ] = 6 * 60


class AdapterSettings(ConfigSection, frozen=True, kw_only=True):
    """What every adapter has; each kind adds keys of its own."""

    kind: Annotated[str | None, Meta(description="which platform; the adapter's name when not set")] = None
    member: Annotated[str | None, Meta(description="who answers; the captain when not set")] = None
    enabled: bool = True
    open: Annotated[bool, Meta(description="let everybody talk to it")] = False
    allow_from: Annotated[
        tuple[str, ...], Meta(description="ids of the people who may talk to it, beside those of `people`")
    ] = ()
    chats: Annotated[
        tuple[str, ...], Meta(description="ids of groups in which everybody may talk to it")
    ] = ()
    groups: Annotated[Literal["mention", "all", "off"], Meta(description="what it answers in groups")] = (
        "mention"
    )
    approvals: Annotated[bool, Meta(description="false: people refuse calls here, and approve none")] = True


class SpeechEndpoint(ConfigSection, frozen=True, kw_only=True):
    """A server that speaks OpenAI's protocol for audio; without an address the extra `voice` serves."""

    base_url: Annotated[str | None, Meta(description="for example https://api.openai.com/v1")] = None
    api_key: Annotated[str | None, Meta(description='the key, best written as "${OPENAI_API_KEY}"')] = None
    model: Annotated[str | None, Meta(description="the server's name for the model")] = None
    language: Annotated[
        str, Meta(description="what is spoken, such as zh; the server finds out when empty")
    ] = ""
    voice: Annotated[str | None, Meta(description="who speaks, for example alloy")] = None
    format: Annotated[
        Literal["opus", "mp3", "wav"], Meta(description="chats play opus as a voice message")
    ] = "opus"
    timeout_seconds: Annotated[float, Meta(gt=0, le=600)] = 120


class SpeechSettings(ConfigSection, frozen=True, kw_only=True):
    """How spoken messages are understood, and who speaks."""

    transcriber: SpeechEndpoint = SpeechEndpoint()
    speaker: SpeechEndpoint = SpeechEndpoint()
    reply: Annotated[
        Literal["never", "voice", "always"],
        Meta(description="speak answers in chats: to spoken messages, always, or only when asked"),
    ] = "never"
    tools: Annotated[bool, Meta(description="let members speak and transcribe on request")] = False
    max_minutes: Annotated[
        int, Meta(ge=1, le=60, description="longer recordings are refused by the extra `voice`")
    ] = 10


class WebSearchSettings(ConfigSection, frozen=True, kw_only=True):
    """The engine behind the tool `web_search`; without one the tool is not offered."""

    engine: Annotated[
        Literal["searxng", "brave", "tavily", "mcp"] | None,
        Meta(description="which protocol is spoken; mcp asks a tool of one of mcp.servers"),
    ] = None
    base_url: Annotated[
        str | None, Meta(description="where SearXNG is reached; another address for brave and tavily")
    ] = None
    api_key: Annotated[str | None, Meta(description='the key, written as "${BRAVE_API_KEY}"')] = None
    server: Annotated[str | None, Meta(description="for mcp: the server's name")] = None
    tool: Annotated[str | None, Meta(description="for mcp: its tool that searches")] = None


class BackupSettings(ConfigSection, frozen=True, kw_only=True):
    """Copies of the whole workspace, made by the clock."""

    when: Annotated[
        str, Meta(description='as a task says it: "0 3 * * *" or "every 1d"; none is made when empty')
    ] = ""
    folder: Annotated[
        str | None, Meta(description="where they lie, better on another disk; .ship/backups when not set")
    ] = None
    keep: Annotated[int, Meta(ge=1, le=1000, description="how many are kept, the newest")] = 7


class RouteCondition(ConfigSection, frozen=True, kw_only=True):
    """What a message must be for a rule of routing to hold; what is not said holds for all."""

    task: Annotated[
        Literal["code", "chat", "analysis", "vision", "cheap"] | None,
        Meta(description="what the message looks like; no model is asked for that"),
    ] = None
    member: str | None = None
    thread: Annotated[str | None, Meta(description="a thread's id, or a pattern such as web:*")] = None
    platform: str | None = None


class RouteRule(ConfigSection, frozen=True, kw_only=True):
    """Which model answers messages of a kind, unless a person chose one."""

    model: Annotated[str, Meta(min_length=1, description="provider:model, or a model of the same provider")]
    when: RouteCondition = RouteCondition()
    why: Annotated[str, Meta(max_length=200, description="told where the choice is shown")] = ""


class Config(ConfigSection, frozen=True, kw_only=True):
    """The settings of ship.json. Every key is optional."""

    schema: Annotated[str | None, Meta(description="where editors find this schema")] = msgspec.field(
        default=None, name="$schema"
    )
    name: Annotated[str | None, Meta(description="what the member is called")] = None
    description: str | None = None
    version: str | None = None
    language: Annotated[Literal["en", "zh"], Meta(description="language of Shipmate's own words")] = "en"
    timezone: Annotated[str, Meta(description="for example Asia/Shanghai; the machine's zone when empty")] = (
        ""
    )
    llm: Llm = Llm()
    permissions: Permissions = Permissions()
    context: ContextSettings = ContextSettings()
    skills: Skills = Skills()
    mcp: Mcp = Mcp()
    env: Annotated[dict[str, str], Meta(description="the member's private variables for commands")] = {}
    self_tools: Annotated[
        bool, Meta(description="offer the tools with which members change themselves; each call asks")
    ] = False
    server: Server = Server()
    adapters: Annotated[
        JsonObject, Meta(description="by a name of your own: kind, token, member and more")
    ] = {}
    delivery: DeliverySettings = DeliverySettings()
    speech: SpeechSettings = SpeechSettings()
    knowledge: Annotated[
        tuple[str, ...], Meta(description="folders whose files are looked up by search_knowledge, and cited")
    ] = ()
    web_search: WebSearchSettings = WebSearchSettings()
    budget: BudgetSettings = BudgetSettings()
    store: Annotated[
        str,
        Meta(description="where threads and all that must last are kept: postgresql://…; files when empty"),
    ] = ""
    memory: MemoryRule = MemoryRule()
    team: TeamSettings = TeamSettings()
    backup: BackupSettings = BackupSettings()
    routing: Annotated[
        tuple[RouteRule, ...], Meta(description="which model answers what; the first rule that fits holds")
    ] = ()
    people: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description='the ids of one person, such as {"ann": ["telegram:123", "feishu:ou_1"]}'),
    ] = {}
