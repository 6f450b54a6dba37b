"""Every sentence the server says about scripts, rehearsals and findings has its Chinese on the page."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest

from tests.support.page import ROOT

TABLE: dict[str, str] = json.loads((ROOT / "src/shipmate/values/words/reason.zh.json").read_text())
SOURCES = ("priming/script", "priming/lint", "priming/rehearsal")
# These are written into files and reports, compared with, or searched for; nobody reads them on the page.
UNSAID = re.compile(
    r"\{[^}]|[\\(\[]|#|\s*- |.*(?:\\|\^|<\?xml|<test|\|---)"
    r"|must be a text$| must be $|whole number$|begin on the first line$"
)
# What a piece is called stands in the table name by name.
NAMES = ("the {}",)
UNTOLD = ("metadata.py", "writer.py", "mend.py", "junit.py", "markdown_report.py", "kept.py", "update.py")


def docstrings(tree: ast.AST) -> set[int]:
    owners = (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {id(first.value) for first in bodies if isinstance(first, ast.Expr)}


def read_template(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def sentences() -> Iterator[str]:
    for path in sorted(each for name in SOURCES for each in (ROOT / "src/shipmate" / name).rglob("*.py")):
        if path.name in UNTOLD:
            continue
        tree = ast.parse(path.read_text())
        joined = [part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values]
        left_out = docstrings(tree) | {id(part) for part in joined}
        for node in ast.walk(tree):
            text = read_template(node) if id(node) not in left_out else ""
            if " " in text.strip() and not UNSAID.match(text):
                yield text


def doctor_sentences() -> Iterator[str]:
    """Go over what findings say and advise; their subjects are names."""
    for path in sorted((ROOT / "src/shipmate").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "Finding(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                for given in [*node.args[2:], *(each.value for each in node.keywords)]:
                    branches = (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,)
                    yield from filter(None, map(read_template, branches))


def is_told(text: str) -> bool:
    """Return whether a sentence is in the table, or each part of it is; a value alone needs no words."""
    text = text.strip().rstrip(".:")
    if text in TABLE or text in NAMES or not re.search("[a-z]", text):
        return True
    parts = [text.split(mark, 1) for mark in (". ", ": ") if mark in text]
    return any(all(is_told(part) for part in each) for each in parts)


def test_the_sources_are_found() -> None:
    assert len(set(sentences())) > 100


@pytest.mark.parametrize("text", sorted(set(sentences())))
def test_each_sentence_has_its_chinese(text: str) -> None:
    assert is_told(text), f"add {text!r} to values/words/reason.zh.json"


# Numbers, commands and what other places say stand between the signs.
BARE = ("{}: {}", "{}:{}: {}", "{}.", "{} {}{}", "edit {}", "ship.json: {}", "chmod {} {}")


def test_u9_what_doctor_says_has_its_chinese() -> None:
    found = sorted({text for text in doctor_sentences() if text not in BARE})
    assert len(found) > 50
    assert [text for text in found if not is_told(text)] == [], "add them to values/words/reason.zh.json"


def test_each_chinese_sentence_holds_the_values_of_the_english() -> None:
    for told, instead in TABLE.items():
        wanted = {str(number) for number in range(1, told.count("{}") + 1)}
        assert set(re.findall(r"\{(\d)\}", instead)) == wanted, told
