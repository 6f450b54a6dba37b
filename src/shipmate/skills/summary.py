"""Write the list of skills a prompt carries: XML, complete while it fits."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import lru_cache

from shipmate.skills.location import PREFIX
from shipmate.skills.skill import Skill
from shipmate.values.message import estimate_tokens

# No entry is shorter than its own tags.
LEAST = 25
FRAME = estimate_tokens("<skills>\n</skills>\n")


# What no XML may hold, not even escaped.
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF], " ")


def escape(text: str) -> str:
    """Make a text safe inside an element."""
    return html.escape(text.translate(_CONTROLS), quote=False)


@lru_cache(maxsize=2048)
def _entry(skill: Skill) -> tuple[str, int]:
    requires = f"<requires>{escape(', '.join(skill.missing))}</requires>" if skill.missing else ""
    text = (
        f'<skill available="{str(skill.is_available).lower()}"><name>{escape(skill.name)}</name>'
        f"<description>{escape(skill.description)}</description>"
        f"<location>{escape(skill.location)}</location>{requires}</skill>"
    )
    return text, estimate_tokens(text)


@lru_cache(maxsize=32)
def summary_cost(skills: tuple[Skill, ...]) -> int:
    """Estimate the tokens of a complete summary."""
    return FRAME + sum(_entry(skill)[1] for skill in skills)


@lru_cache(maxsize=64)
def summarise(skills: tuple[Skill, ...]) -> str:
    """Write the XML summary of skills."""
    return "\n".join(["<skills>", *(_entry(skill)[0] for skill in skills), "</skills>"])


def take(skills: Sequence[Skill], tokens: int) -> tuple[Skill, ...]:
    """Take skills from the front, leaving out those too long for the room that is left."""
    room = tokens - FRAME
    taken: list[Skill] = []
    for skill in skills:
        if room < LEAST:
            break
        cost = _entry(skill)[1]
        if cost <= room:
            taken.append(skill)
            room -= cost
    return tuple(taken)


@lru_cache(maxsize=32)
def names_within(skills: tuple[Skill, ...], tokens: int) -> tuple[str, int]:
    """Join as many names as fit; return them and how many are left out."""
    taken: list[str] = []
    room = tokens
    for name in map(_short, skills):
        room -= estimate_tokens(name) + 1
        if room < 0:
            break
        taken.append(name)
    return ", ".join(taken), len(skills) - len(taken)


def _short(skill: Skill) -> str:
    """Return the name where it tells the place, else the place."""
    usual = (f"skills/{skill.name}/SKILL.md", f"{PREFIX}{skill.name}")
    return skill.name if skill.location in usual else skill.location
