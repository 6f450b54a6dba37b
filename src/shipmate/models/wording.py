"""The words of wording.md by name."""

from __future__ import annotations

from pathlib import Path

from shipmate.values.saying import read_sayings

WORDING = read_sayings(Path(__file__).with_name("wording.md"))
