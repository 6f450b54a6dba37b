"""Write what the caller adds, such as the chat a message was said in."""

from __future__ import annotations

from shipmate.context.section import FILE_TOKENS, Draft, Omission, Scene, SectionKind


def write(scene: Scene) -> Draft | Omission:
    """Write the caller's text."""
    text = (scene.request.extra_context or "").strip()
    return (
        Draft(text=text, source="the caller", reason="given") if text else Omission("the caller adds nothing")
    )


KINDS = (SectionKind("extra", "Extra context", "volatile", write, FILE_TOKENS // 2),)
