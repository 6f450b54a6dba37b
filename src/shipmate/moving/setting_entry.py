"""Say how models, platforms and schedules of other programs are written here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from shipmate.errors import UserError
from shipmate.models.catalog import PROVIDERS
from shipmate.moving.move_plan import MovePlan
from shipmate.moving.talk_writer import digest
from shipmate.schedule.task import make_slug, read_task, switch, write_task
from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import object_at, text_at
from shipmate.workspace.foreign.mcp_entry import take_server
from shipmate.workspace.secret.setting import VARIABLE

# What others call a provider of ours.
SAME = {
    "gemini": "google",
    "moonshot": "moonshotai",
    "kimi": "moonshotai",
    "zhipu": "zai",
    "dashscope": "alibaba",
    "qwen": "alibaba",
    "lm_studio": "lmstudio",
    "openai_codex": "openai-codex",
    "azure_openai": "azure",
    "custom": "openai-compatible",
    "vllm": "openai-compatible",
}
COMPATIBLE = "openai-compatible"
# The adapters that go on with the channels of others: what their settings are called there, ours first.
CHANNELS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "telegram": ("telegram", {"token": ("token", "botToken", "bot_token")}),
    "discord": ("discord", {"token": ("token", "botToken")}),
    "slack": ("slack", {"token": ("botToken", "token"), "appToken": ("appToken",)}),
    "feishu": (
        "feishu",
        {
            "appId": ("appId", "app_id"),
            "appSecret": ("appSecret", "app_secret"),
            "encryptKey": ("encryptKey",),
            "verificationToken": ("verificationToken",),
        },
    ),
    "dingtalk": ("dingtalk", {"clientId": ("clientId",), "clientSecret": ("clientSecret",)}),
}
PLAIN = ("appId", "clientId")
ALLOWED = ("allowFrom", "allow_from", "allowedFrom", "groupAllowFrom")


def take_model(plan: MovePlan, place: str, provider: str, model: str, key: str, address: str) -> None:
    """Take the model that answers; its key goes to .env."""
    head, slash, rest = model.partition("/")
    named = head if slash and provider in ("", "auto", head) else provider
    ours = SAME.get(named, named)
    if ours not in PROVIDERS and address:
        ours = COMPATIBLE
    if ours not in PROVIDERS or not model or any(sign in address + model for sign in "@?#$"):
        plan.leave(f"{place}: model {model}", "model-unknown", provider=named or "?")
        return
    llm: JsonObject = {"provider": ours, "model": rest if slash and head == named else model}
    if address and address.rstrip("/") != (PROVIDERS[ours].home or ""):
        llm["baseUrl"] = address
    if key and not VARIABLE.search(key):
        llm["apiKey"] = plan.secret(f"{named}_api_key", key)
    elif PROVIDERS[ours].keys:
        # A variable is not named by what others wrote: its value could be sent anywhere.
        plan.leave(f"{place}: {named}", "key-missing")
    plan.setting("llm", value=llm)


def take_channel(plan: MovePlan, place: str, kind: str, given: JsonObject, member: str = "") -> None:
    """Take a channel with who may talk there; it is switched off unless that was asked for."""
    if kind not in CHANNELS:
        plan.leave(place, "channel-unknown", kind=kind)
        return
    ours, keys = CHANNELS[kind]
    name = f"{ours}-{member}" if member and member != plan.member else ours
    entry: JsonObject = {"kind": ours} if name != ours else {}
    for key, names in keys.items():
        value = next((text_at(given, each) for each in names if text_at(given, each)), "")
        if value and VARIABLE.search(value):
            plan.leave(f"{place}: {key}", "key-missing")
        elif value:
            entry[key] = value if key in PLAIN else plan.secret(f"{name}_{key}", value)
    if not any(key in entry for key in keys):
        return
    if member and member != plan.member:
        entry["member"] = member
    allowed, is_open = _read_allowed(given)
    if is_open:
        plan.leave(f"{place}: allowFrom *", "channel-open", name=name)
    if allowed:
        entry["allowFrom"] = allowed
    if "channels" not in plan.on:
        entry["enabled"] = False
        plan.leave(place, "channel-off", name=name)
    plan.setting("adapters", name, value=entry)


def _read_allowed(given: JsonObject) -> tuple[list[str], bool]:
    """Return the ids of those who may talk, and whether everybody may."""
    found: list[str] = []
    for key in ALLOWED:
        value: Any = given.get(key)
        words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        found += [str(word).strip() for word in words if isinstance(word, str | int)]
    # nanobot writes `4242|ann`, OpenClaw `tg:4242`.
    plain = [word.partition("|")[0].rpartition(":")[2].strip() for word in found]
    is_open = "*" in plain or text_at(given, "dmPolicy") == "open"
    return list(dict.fromkeys(word for word in plain if word and word != "*")), is_open


def take_servers(plan: MovePlan, place: str, servers: Any) -> None:
    """Take MCP servers, when that was asked for: each is a program that is started."""
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        taken = take_server(str(name), entry, plan.secret if "mcp" in plan.on else None)
        if taken is None:
            plan.leave(f"{place}: MCP server {name}", "mcp-unclear")
        elif "mcp" in plan.on:
            plan.setting("mcp", "servers", str(name), value=taken)
        else:
            plan.leave(
                f"{place}: MCP server {name}", "mcp-off", lines={"mcp": {"servers": {str(name): taken}}}
            )


def take_job(
    plan: MovePlan, place: str, job: JsonObject, *, member: str = "", deliver: tuple[str, ...] = ()
) -> None:
    """Take a job of a schedule as a task, paused unless that was asked for."""
    given = object_at(job, "schedule")
    title = text_at(job, "name") or text_at(job, "id") or "job"
    when, zone = _read_when(given), text_at(given, "tz")
    prompt = next(
        (text for key in ("message", "text", "prompt") if (text := text_at(job, "payload", key))), ""
    ) or text_at(job, "message")
    what = f"{place}: {title}"
    if not when or not prompt:
        plan.leave(what, "job-unclear")
        return
    if when == "over":
        plan.leave(what, "job-over")
        return
    task_id = f"{plan.program}-{make_slug(title)[:28]}-{digest(text_at(job, 'id') or title)[:6]}"
    text = write_task(
        title=title, when=when, prompt=plan.mask(prompt), zone=zone, member=member, deliver=deliver
    )
    if "tasks" not in plan.on or job.get("enabled") is False:
        text = switch(text, on=False)
    try:
        read_task(task_id, text)
    except UserError as error:
        plan.leave(what, "job-refused", why=str(error))
        return
    plan.tasks[task_id] = text


def _read_when(given: JsonObject) -> str:
    expression = text_at(given, "expr")
    every = given.get("everyMs") or given.get("every_ms")
    at = given.get("atMs") or given.get("at_ms") or text_at(given, "at")
    match text_at(given, "kind"):
        case "every" if isinstance(every, int | float) and every >= 10_000:
            return f"every {int(every // 1000)}s"
        case "at" if isinstance(at, int | float):
            moment = datetime.fromtimestamp(at / 1000, UTC)
            return f"time:{moment.isoformat()}" if moment > datetime.now(UTC) else "over"
        case "at" if at or expression:
            return f"time:{at or expression}"
        case "cron" if expression:
            fields = expression.split()
            # ZyHive's cron has seconds before the minutes.
            return " ".join(fields[1:]) if len(fields) == 6 and fields[0] == "0" else expression
        case _:
            return ""
