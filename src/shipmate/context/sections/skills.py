"""Write skills: some in full, the others as a list.

While the list fits its budget it is complete and never changes with what a person says. When there are too
many skills, the stable list gives names only, and the few that meet the person's words are described at the
end of the prompt, where a change costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shipmate.context.section import FILE_TOKENS, Draft, Omission, Scene, SectionKind
from shipmate.context.style import word
from shipmate.skills.ranking import rank
from shipmate.skills.skill import Skill
from shipmate.skills.summary import names_within, summarise, summary_cost, take

_ASKED = re.compile(r"(?<![\w$])\$([\w-]+)")


def write_always(scene: Scene) -> Draft | Omission:
    """Write the skills marked `always` in full."""
    return _in_full(scene, scene.skills.always, "no skill is marked always")


def write_asked(scene: Scene) -> Draft | Omission:
    """Write the skills the caller names, or a person names as `$skill`, in full for this turn."""
    known = scene.skills.by_name
    said = [name for name in _ASKED.findall(scene.request.last_text) if name in known]
    names = dict.fromkeys([*scene.request.skill_names, *(name for name in said if known[name].is_for_people)])
    skills = [known[name] for name in names if name in known]
    usable = [skill for skill in skills if skill.is_available and skill not in scene.skills.always]
    return _in_full(scene, usable, "no skill was asked for by name")


def write_all(scene: Scene) -> Draft | Omission:
    """Write every installed skill in full, as document 003 does; those of the package are not installed."""
    installed = (skill for skill in scene.skills.skills if skill.origin != "package")
    skills = [skill for skill in installed if skill.is_available and skill.is_for_model]
    return _in_full(scene, skills, "no skill is installed")


def _in_full(scene: Scene, skills: Iterable[Skill], otherwise: str) -> Draft | Omission:
    chosen = [skill for skill in skills if skill.body]
    if not chosen:
        return Omission(otherwise)
    return Draft(
        text="\n\n".join(
            word(scene.style, "skill", name=skill.name, title=skill.title, text=skill.body)
            for skill in chosen
        ),
        source=", ".join(skill.location for skill in chosen),
        reason=f"{len(chosen)} in full",
    )


def write_list(scene: Scene) -> Draft | Omission:
    """List the skills: all with their descriptions, or, when they are too many, by name."""
    skills, room = scene.skills.listed, scene.config.skills.summary_tokens
    if not skills:
        return Omission("there is no skill to list")
    cost = summary_cost(skills)
    if cost <= room:
        return Draft(
            fields={"skills": summarise(skills)},
            source="skills/",
            reason=f"all {len(skills)} skills fit in {room} tokens",
        )
    names, left_out = names_within(skills, room // 2)
    return Draft(
        fields={"names": names, "more": f", and {left_out} more" if left_out else ""},
        source="skills/",
        reason=f"{len(skills)} skills would take {cost} tokens of {room}: {len(skills) - left_out} by name",
        wording="skill-names",
    )


def write_matches(scene: Scene) -> Draft | Omission:
    """Describe the skills that best meet the person's words, when not all could be described."""
    skills, room = scene.skills.listed, scene.config.skills.summary_tokens
    if summary_cost(skills) <= room:
        return Omission("all skills are described above")
    chosen = take(rank(skills, scene.request.last_text), room // 2)
    if not chosen:
        return Omission(f"no description fits in {room // 2} tokens")
    return Draft(
        fields={"skills": summarise(chosen)},
        source="skills/",
        reason=f"the {len(chosen)} of {len(skills)} skills that best meet the last words",
    )


KINDS = (
    SectionKind("always-skills", "Skills always on", "stable", write_always, FILE_TOKENS),
    SectionKind("asked-skills", "Skills asked for", "volatile", write_asked, FILE_TOKENS),
    SectionKind("skill-texts", "Skills in full", "stable", write_all, 2 * FILE_TOKENS),
    SectionKind("skills", "Skill list", "stable", write_list),
    SectionKind("skill-matches", "Skills that match", "volatile", write_matches),
)
