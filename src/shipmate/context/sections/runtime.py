"""Write the runtime line: model, member, workspace."""

from __future__ import annotations

from shipmate.context.section import Draft, Scene, SectionKind


def write(scene: Scene) -> Draft:
    """Write one line about where this runs."""
    request = scene.request
    return Draft(
        fields={
            "model": request.model or "not set",
            "member": scene.member.id,
            "workspace": str(scene.own.root),
            "platform": f" | Platform: {request.platform}" if request.platform else "",
        },
        source="built in",
        reason="always there",
    )


KINDS = (SectionKind("runtime", "Runtime", "slow", write),)
