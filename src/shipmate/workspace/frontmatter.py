"""Split a Markdown file into its front matter and its body."""

from __future__ import annotations

import re

import msgspec

from shipmate.values.message import JsonObject
from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml

# A line may end as YAML lets it: with a line feed, a carriage return, or both.
_FENCE = re.compile(r"\A\ufeff?---[ \t]*(?:\r\n?|\n)(.*?)(?<=[\r\n])---[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)


class Frontmatter(msgspec.Struct, frozen=True):
    """What stands between the `---` lines, and the text below them."""

    data: JsonObject
    body: str
    # Why the front matter could not be read; empty when it could, or when there is none.
    problem: str = ""
    # The lines between the `---`, as they stand.
    raw: str = ""


def read_frontmatter(text: str) -> Frontmatter:
    """Read front matter; a broken one yields no data and says why, and the body stays whole."""
    match = _FENCE.match(text)
    if match is None:
        return Frontmatter({}, text)
    body = text[match.end() :]
    try:
        data, _ = read_yaml(match[1])
    except YamlError as error:
        # The file's first line is the `---` above.
        return Frontmatter({}, body, f"line {error.line + 2}: {error}", match[1])
    if data is None:
        return Frontmatter({}, body, raw=match[1])
    if not isinstance(data, dict):
        return Frontmatter({}, body, "the front matter is not a list of `key: value` lines", match[1])
    return Frontmatter(data, body, raw=match[1])
