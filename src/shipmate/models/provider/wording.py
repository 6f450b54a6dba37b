"""Read the words of wording.md by name."""

from __future__ import annotations

from importlib.resources import files


def read_wording() -> dict[str, str]:
    """Return each section of the file under its heading."""
    text = files("shipmate.models.provider").joinpath("wording.md").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in text.split("\n## ")[1:])
    return {name.strip(): body.strip() for name, _, body in sections}


WORDING = read_wording()
