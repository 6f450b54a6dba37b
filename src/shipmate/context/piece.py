"""Hold a section while the prompt is put together: written, cut, and finally joined with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from shipmate.context.budget import CUT_ORDER, FLOOR_TOKENS, split_ends, weigh
from shipmate.context.profile import Profile
from shipmate.context.request import Context, Section, Stability, ToolDescription
from shipmate.context.section import Draft, Omission, Scene, SectionKind, section_kinds
from shipmate.context.style import find_wording, word
from shipmate.values.saying import fill

# The constitution may shrink, but a member without it would be someone else.
NEVER_DROPPED = frozenset({"agent"})


@dataclass(slots=True)
class Piece:
    """One section in the making."""

    kind: SectionKind
    style: str
    draft: Draft | Omission
    text: str = ""
    bytes: int = 0
    tokens: int = 0
    reason: str = ""
    stability: Stability = "stable"
    is_cut: bool = False

    def __post_init__(self) -> None:
        self.reason = self.draft.reason
        self.stability = self.kind.stability
        if isinstance(self.draft, Draft):
            self.stability = self.draft.stability or self.stability
            self._render(self.draft.text)

    def _render(self, text: str) -> None:
        assert isinstance(self.draft, Draft)
        wording = find_wording(self.style, self.draft.wording or self.kind.name)
        self.text = fill(wording, {**self.draft.fields, "text": text})
        self.bytes, self.tokens = weigh(self.text)

    def cut(self, tokens: int, why: str) -> None:
        """Keep both ends of the text within so many tokens, or nothing if that would say nothing."""
        if not isinstance(self.draft, Draft) or not self.text:
            return
        before, whole = self.tokens, self.draft.text
        note = word(self.style, "cut", count=f"{len(whole):,}", source=self.draft.source)
        room = tokens - (before - weigh(whole)[1]) - weigh(note)[1]
        if self.kind.name in NEVER_DROPPED:
            room = max(room, FLOOR_TOKENS)
        self.is_cut = True
        if room < FLOOR_TOKENS or not whole:
            self.text, self.bytes, self.tokens = "", 0, 0
            self.reason = f"left out, {before:,} tokens: {why}"
            return
        head, tail = split_ends(whole, room)
        note = word(
            self.style, "cut", count=f"{len(whole) - len(head) - len(tail):,}", source=self.draft.source
        )
        self._render(f"{head.rstrip()}\n\n{note}\n\n{tail.lstrip()}")
        self.reason = f"cut from {before:,} to {self.tokens:,} tokens: {why}"

    def finish(self, start: int, ratio: float) -> Section:
        """Return the section as it is shown; tokens are in the model's own count."""
        return Section(
            name=self.kind.name,
            title=self.kind.title,
            text=self.text,
            source=self.draft.source,
            stability=self.stability,
            bytes=self.bytes,
            tokens=round(self.tokens * ratio),
            included=bool(self.text),
            reason=self.reason,
            start=start,
            is_cut=self.is_cut,
            problem=self.draft.problem,
        )


def write_pieces(profile: Profile, scene: Scene) -> list[Piece]:
    """Write the sections of a profile."""
    kinds = section_kinds()
    return [Piece(kinds[name], profile.style, kinds[name].write(scene)) for name in profile]


def limit_pieces(pieces: Sequence[Piece], limits: Mapping[str, int], budget: int, ratio: float) -> None:
    """Cut each section to its own limit, then in a fixed order until the whole fits."""
    for piece in pieces:
        limit = limits.get(piece.kind.name, piece.kind.limit)
        if limit is not None and piece.tokens * ratio > limit:
            piece.cut(int(limit / ratio), f"this section may have {limit:,} tokens")
    by_name = {piece.kind.name: piece for piece in pieces}
    excess = sum(piece.tokens for piece in pieces) - int(budget / ratio)
    for name in CUT_ORDER:
        if excess <= 0:
            return
        if name in by_name:
            before = by_name[name].tokens
            by_name[name].cut(before - excess, f"the whole prompt may have {budget:,} tokens")
            excess -= before - by_name[name].tokens


def join_pieces(
    profile: Profile, pieces: Sequence[Piece], tools: Sequence[ToolDescription], ratio: float, zone: str
) -> Context:
    """Join sections into a prompt, and find how much of it stays the same from turn to turn."""
    if not profile.is_whole:
        profile = _put_last(profile, {piece.kind.name for piece in pieces if piece.stability == "volatile"})
    system, starts = _join(profile, {piece.kind.name: piece for piece in pieces if piece.text})
    sections = [piece.finish(starts.get(piece.kind.name, 0), ratio) for piece in pieces]
    names = {section.name for section in sections}
    others = [_outside(name, profile.name) for name in section_kinds() if name not in names]
    volatile = [each.start for each in sections if each.included and each.stability == "volatile"]
    size, tokens = weigh(system)
    tools_bytes, tools_tokens = weigh_tools(tools)
    return Context(
        profile=profile.name,
        system=system,
        sections=(*sections, *others),
        stable_bytes=min(volatile, default=size),
        tools_bytes=tools_bytes,
        tokens=round((tokens + tools_tokens) * ratio),
        ratio=ratio,
        zone=None if profile.is_whole else zone,
    )


def _put_last(profile: Profile, names: set[str]) -> Profile:
    """Return the profile with some sections behind all others; their order stays."""
    ordered = sorted(profile, key=names.__contains__)
    return replace(profile, parts=tuple((name,) for name in ordered))


# What the tools of the last prompts weigh: each turn has the same ones again.
_weighed: dict[tuple[int, ...], tuple[tuple[ToolDescription, ...], tuple[int, int]]] = {}
WEIGHED_LIMIT = 64


def weigh_tools(tools: Sequence[ToolDescription]) -> tuple[int, int]:
    """Return the bytes of the tool schemas on the wire, and the estimate of their tokens."""
    if not tools:
        return 0, 0
    # They are told apart by which objects they are, which holding on to them keeps so.
    key = tuple(map(id, tools))
    if key not in _weighed:
        if len(_weighed) >= WEIGHED_LIMIT:
            _weighed.clear()
        _weighed[key] = tuple(tools), _weigh_tools(tools)
    return _weighed[key][1]


def _weigh_tools(tools: Sequence[ToolDescription]) -> tuple[int, int]:
    described = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in tools
    ]
    return weigh(msgspec.json.encode(described).decode())


def _join(profile: Profile, pieces: Mapping[str, Piece]) -> tuple[str, dict[str, int]]:
    """Join the texts; give the prompt and the byte at which each section begins."""
    texts: list[str] = []
    starts: dict[str, int] = {}
    size = 0
    for part in profile.parts:
        gap = profile.separator
        heading = profile.headings.get(part[0])
        top = f"{word(profile.style, heading)}\n\n" if heading else ""
        for name in part:
            if name not in pieces:
                continue
            lead = f"{gap if texts else ''}{top}"
            top = ""
            starts[name] = size + len(lead.encode())
            size = starts[name] + pieces[name].bytes
            texts += [lead, pieces[name].text]
            gap = "\n\n"
    return "".join(texts), starts


@lru_cache(maxsize=256)
def _outside(name: str, profile: str) -> Section:
    kind = section_kinds()[name]
    return Section(
        name=name,
        title=kind.title,
        text="",
        source="",
        stability=kind.stability,
        bytes=0,
        tokens=0,
        included=False,
        reason=f"not in profile {profile}",
    )
