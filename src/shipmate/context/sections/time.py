"""Write the current time in the configured zone."""

from __future__ import annotations

from shipmate.context.section import Draft, Scene, SectionKind


def write(scene: Scene) -> Draft:
    """Write date and time; what changes most often comes last in the default wording."""
    now = scene.now
    return Draft(
        fields={
            "date": f"{now:%Y-%m-%d}",
            "weekday": f"{now:%A}",
            "minute": f"{now:%H:%M}",
            "second": f"{now:%H:%M:%S}",
            "zone": now.tzname() or f"{now:%z}",
            "offset": now.isoformat()[-6:],
        },
        source="the clock",
        reason="always there",
    )


KINDS = (SectionKind("time", "Current time", "volatile", write),)
