"""Show the rules, try them out before they are saved, and save them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter
from pydantic import Field, StrictBool, StringConstraints
from starlette.responses import Response

from shipmate.approvals.policy.policy import findings
from shipmate.approvals.policy.preference import MemberPolicy
from shipmate.approvals.policy.rule import parse_rules
from shipmate.approvals.value import Action, Call
from shipmate.errors import ToolError
from shipmate.server.guard.error import ApiError, hide_root, invalid
from shipmate.server.port import Ship
from shipmate.server.routes.consent.approval import localize
from shipmate.server.shape import Answer, ExactShape, Json, Localized, Shape, Slot, tells
from shipmate.server.site import TheShip
from shipmate.team.user import OWNER
from shipmate.tools.tool import ToolContext
from shipmate.values.message import JsonObject, new_id
from shipmate.workspace.config import Permissions
from shipmate.workspace.crew import RULES
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.setting_file.config_file import read_object, write_key

RULE_LIMIT = 500
Mode = Literal["ask", "preview", "auto-edit", "read-only", "yolo"]
RuleText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
RuleTexts = Annotated[tuple[RuleText, ...], Field(max_length=RULE_LIMIT)]
# The tools that can be tried out, and the argument that says what exactly.
TRIED: dict[str, str] = {"exec": "command", "write": "path", "read": "path", "web_fetch": "url"}
router = APIRouter(tags=["permissions"])


class RuleSet(ExactShape):
    """The rules of ship.json."""

    mode: Mode
    allow: RuleTexts = ()
    ask: RuleTexts = ()
    deny: RuleTexts = ()


class RuleChange(RuleSet):
    """Rules to save, those they were made from, and whether a mode that asks nobody is meant."""

    was: RuleSet | None = None
    sure: StrictBool = False


class RuleTrial(Shape):
    """A call that nobody makes, and the rules to judge it by; without them those in force."""

    tool: Literal["exec", "write", "read", "web_fetch"] = "exec"
    what: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
    member: Slot = CAPTAIN
    rules: RuleSet | None = None


class BrokenRule(Answer):
    """A rule that cannot be read."""

    rule: str
    problem: str


class RulesView(Answer):
    """The rules in force, and what is wrong with them."""

    mode: Mode
    allow: list[str]
    ask: list[str]
    deny: list[str]
    broken: list[BrokenRule]
    # What stands out in them, such as a rule that covers nothing.
    notes: list[str]


class RuleVerdict(Answer):
    """What would happen to a call, why, and by which rule."""

    action: Action
    why: Localized
    rule: str | None
    broken: list[BrokenRule]


@router.get("/api/permissions", openapi_extra=tells(RulesView))
async def read_permissions(ship: TheShip) -> Response:
    """Return the rules in force."""
    return Json(_show(_current(ship)))


@router.post("/api/permissions/try", openapi_extra=tells(RuleVerdict))
async def try_permissions(ship: TheShip, body: RuleTrial) -> Response:
    """Judge a call by rules that need not be saved; nothing runs, nobody is asked, nothing is written."""
    permissions = _current(ship) if body.rules is None else _merge(ship, body.rules)
    policy = MemberPolicy(
        ship.layout,
        permissions,
        sandbox_works=lambda: ship.sandbox.works,
        config=ship.config,
    )
    try:
        verdict = policy.judge(_call(ship, body), await ship.approvals.grants())
    except ToolError as error:
        raise invalid(hide_root(str(error), str(ship.layout.root)), "Write it as a member would.") from error
    why = localize(verdict.why, str(ship.layout.root))
    return Json(RuleVerdict(action=verdict.action, why=why, rule=verdict.rule, broken=_broken(permissions)))


@router.put("/api/permissions", openapi_extra=tells(RulesView))
async def write_permissions(ship: TheShip, body: RuleChange) -> Response:
    """Save the rules in ship.json, where every other key stays as it is; they hold from the next call on."""
    wanted = _merge(ship, body)
    if body.was is not None and not _is_current(ship, body.was):
        # Else a denial that somebody added meanwhile would be gone, and nobody would know.
        raise ApiError(409, "conflict", "ship.json was changed meanwhile.", "Load it again and merge.")
    if broken := _broken(wanted):
        raise invalid(f"{broken[0].rule}: {broken[0].problem}", "Mend this rule; nothing was saved.")
    if wanted.mode == "yolo" and _current(ship).mode != "yolo" and not body.sure:
        raise ApiError(
            409, "conflict", "In mode yolo every call runs without asking.", "Say that you are sure."
        )
    stated = {**_stated(ship), "mode": body.mode, "allow": body.allow, "ask": body.ask, "deny": body.deny}
    write_key(ship.layout, ship.layout.config, "permissions", stated)
    return Json(_show(_current(ship)))


def _current(ship: Ship) -> Permissions:
    return ship.crew.loaded.config.permissions


def _is_current(ship: Ship, rules: RuleSet) -> bool:
    current = _current(ship)
    lists = ((getattr(current, name), getattr(rules, name)) for name in ("allow", "ask", "deny"))
    return current.mode == rules.mode and all(
        [rule.strip() for rule in stated] == list(seen) for stated, seen in lists
    )


def _stated(ship: Ship) -> JsonObject:
    found = read_object(ship.layout.config).get("permissions")
    return found if isinstance(found, dict) else {}


def _merge(ship: Ship, rules: RuleSet) -> Permissions:
    return msgspec.structs.replace(_current(ship), **{name: getattr(rules, name) for name in RULES})


def _call(ship: Ship, body: RuleTrial) -> Call:
    equipment = ship.equip(ship.crew.find(body.member).id)
    tool = equipment.toolset.get(body.tool)
    if tool is None:
        raise invalid(f"This member has no tool {body.tool}.", "Choose another one.")
    given = {TRIED[body.tool]: body.what, **({"content": ""} if body.tool == "write" else {})}
    context = ToolContext(
        member=equipment.member,
        thread_id="web:room:trial",
        run_id=new_id("run"),
        call_id=new_id("call"),
        user_id=OWNER,
    )
    return Call(
        call_id=context.call_id,
        message_id="",
        tool=tool,
        arguments=tool.parse(given),
        raw=tool.translate(given),
        context=context,
    )


def _broken(permissions: Permissions) -> list[BrokenRule]:
    rules = (*permissions.deny, *permissions.ask, *permissions.allow)
    return [BrokenRule(rule=rule, problem=problem) for rule, problem in parse_rules(rules)[1]]


def _show(permissions: Permissions) -> RulesView:
    broken = _broken(permissions)
    notes = [f"{each.subject}: {each.message}" for each in findings(permissions) if each.level == "warn"]
    return RulesView(
        mode=permissions.mode,
        allow=list(permissions.allow),
        ask=list(permissions.ask),
        deny=list(permissions.deny),
        broken=broken,
        notes=notes,
    )
