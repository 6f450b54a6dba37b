"""One name means one thing, and no room is too crowded to hold in the head (H1, H2)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import shipmate
from shipmate.values.event import SURFACES

SOURCE = Path(shipmate.__file__).parent
# Every room may have one door and one service, and a command or a route is named after the thing it is about.
ROOM_WORDS = {"__init__", "port", "service"}
NAMED_AFTER_A_THING = (
    "cli",
    "cli/priming",
    "cli/talk",
    "cli/terminal",
    "cli/workspace",
    "cli/aboard",
    "server/routes",
    "server/routes/chat",
    "server/routes/crew",
    "server/routes/reach",
    "server/routes/schedule",
    "server/routes/team",
    "store/sqlite",
    "store/journal",
    "store/postgres",
)
CROWD = 15
# A function's docstring says what it returns or does, a class's what it is.
VOICE = {
    ast.FunctionDef: ("Give ", "Be ", "Tell whether ", "Say whether "),
    ast.AsyncFunctionDef: ("Give ", "Be ", "Tell whether ", "Say whether "),
    ast.ClassDef: ("Give ", "Be ", "Hold ", "Carry ", "State ", "Name ", "Say ", "Keep ", "Describe "),
    ast.Module: ("Give ", "Be "),
}
# Where no platform may be known by its name: what it shows is asked of `values/event.py`.
CORE = ("approvals", "context", "memory", "orchestrator", "priming", "store", "thread")
PICTURES = re.compile(r"clerk|doorman|silence", re.IGNORECASE)


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def folder_of(path: Path) -> str:
    return path.parent.relative_to(SOURCE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def classes() -> dict[str, set[str]]:
    """Return the places of each public class."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].add(folder_of(path) + "/" + path.stem)
    return found


def same_modules() -> dict[str, set[str]]:
    """Return the folders of each module name that stands in several for different things."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules():
        if path.stem not in ROOM_WORDS:
            found[path.stem].add(folder_of(path))
    return {name: folders for name, folders in found.items() if not is_one_thing(name, folders)}


def is_one_thing(name: str, folders: set[str]) -> bool:
    """Tell whether all but one of the folders hold a view of the thing the module is named after."""
    return len(folders) < 2 or len(folders - set(NAMED_AFTER_A_THING)) < 2


def crowds() -> dict[str, int]:
    """Return the rooms with too many modules, and how many."""
    count: dict[str, int] = defaultdict(int)
    for path in modules():
        if path.stem != "__init__":
            count[folder_of(path)] += 1
    return {folder: number for folder, number in count.items() if number > CROWD}


def defined(tree: ast.Module) -> set[str]:
    """Return the names a module defines: classes, functions, variables, attributes and arguments."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def test_h1_no_public_class_name_is_defined_twice() -> None:
    twice = {name: places for name, places in classes().items() if len(places) > 1}
    assert twice == {}


def test_h1_no_module_name_means_two_things() -> None:
    assert same_modules() == {}, "rename the new one"


def test_h2_no_room_is_crowded() -> None:
    assert crowds() == {}, "give the room inner rooms"


def test_h1_no_name_hides_its_job_behind_a_picture() -> None:
    names = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in modules()
        for name in {path.stem, *defined(tree_of(path))}
        if PICTURES.search(name)
    }
    assert names == set()


def test_h1_policy_has_one_word_for_what_it_says_and_people_one_for_what_they_say() -> None:
    synonyms = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in modules()
        if path.relative_to(SOURCE).parts[0] in ("approvals", "orchestrator", "server", "cli")
        for name in {path.stem, *defined(tree_of(path))}
        if re.search(r"judge?ment|ruling", name, re.IGNORECASE)
    }
    assert synonyms == set(), "a policy has a Verdict, a person a Decision"


def test_h1_docstrings_speak_the_plain_voice() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}: {words}"
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        and (words := ast.get_docstring(node) or "").startswith(VOICE[type(node)])
    ]
    assert wrong == []


def test_h1_the_core_knows_no_platform_by_name() -> None:
    named = {
        f"{path.relative_to(SOURCE)}: {node.value}"
        for path in modules()
        if path.relative_to(SOURCE).parts[0] in CORE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in SURFACES
    }
    assert named == set()
