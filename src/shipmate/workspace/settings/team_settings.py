"""Describe what members and people may use, and how people of a team sign in."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from shipmate.workspace.settings.config_section import ConfigSection

Amount: TypeAlias = Annotated[float, Meta(gt=0)]


class MemberBudget(ConfigSection, frozen=True, kw_only=True):
    """What one member may use, with what colleagues do for it."""

    per_day: Annotated[Amount | None, Meta(description="US dollars; requests with a known price count")] = (
        None
    )
    per_month: Annotated[Amount | None, Meta(description="US dollars")] = None
    tokens_per_day: Annotated[
        Amount | None, Meta(description="tokens in and out of requests without a known price")
    ] = None
    tokens_per_month: Annotated[Amount | None, Meta(description="the same for a month")] = None


class BudgetSettings(MemberBudget, frozen=True, kw_only=True):
    """What models may use: a warning, then a question, then an end. Days are those of UTC."""

    members: Annotated[dict[str, MemberBudget], Meta(description="limits of single members, by id")] = {}
    warn_at: Annotated[float, Meta(gt=0, le=1, description="the share of a limit from which it warns")] = 0.8
    stop: Annotated[
        float, Meta(ge=1, description="at so many times a limit nobody is asked any more; 1 never asks")
    ] = 2.0

    @property
    def is_set(self) -> bool:
        """Return whether there is any limit."""
        return self != _NO_BUDGET


_NO_BUDGET = BudgetSettings()


class TeamLimit(MemberBudget, frozen=True, kw_only=True):
    """What somebody of a team may use, in the threads that are theirs; beyond it they wait."""

    per_minute: Annotated[
        Annotated[int, Meta(ge=1, le=6000)] | None, Meta(description="messages they may send a minute")
    ] = None


class OidcRole(ConfigSection, frozen=True, kw_only=True):
    """Who gets a role by what an OpenID provider says of them."""

    claim: Annotated[str, Meta(min_length=1, description="such as groups or email")]
    value: Annotated[str, Meta(min_length=1, description="what it must be, or have among others")]
    role: Literal["guest", "member", "admin"]


class OidcSettings(ConfigSection, frozen=True, kw_only=True):
    """How people of a team sign in at an OpenID provider."""

    issuer: Annotated[
        str, Meta(pattern=r"^https?://[^\s?#@]+$", description="its address, as it says itself")
    ]
    client_id: Annotated[str, Meta(min_length=1)]
    client_secret: Annotated[
        str | None, Meta(description='best written as "${OIDC_SECRET}"; none for a public client')
    ] = None
    name: Annotated[str, Meta(max_length=60, description="what the button says")] = "OpenID"
    scope: Annotated[str, Meta(description="what is asked for beside openid")] = "profile email"
    user_claim: Annotated[str, Meta(description="what a person who comes first is called after")] = (
        "preferred_username"
    )
    roles: Annotated[
        tuple[OidcRole, ...], Meta(description="the first that fits holds; whom none fits is not let in")
    ] = ()


class TeamSettings(ConfigSection, frozen=True, kw_only=True):
    """What holds for people who sign in; `shipmate users` says who they are."""

    limits: Annotated[
        dict[str, TeamLimit], Meta(description="by a user's name, else by their role: guest, member, admin")
    ] = {}
    oidc: OidcSettings | None = None
