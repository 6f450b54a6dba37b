"""What `shipmate` exports is there, described, and costs nothing until it is used (H6)."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import shipmate
from shipmate import errors

DOCUMENT = Path(__file__).parents[1] / "docs/python.md"
SOURCE = Path(shipmate.__file__)


def typed_names() -> set[str]:
    """Return the names a type checker sees."""
    guarded = (node for node in ast.parse(SOURCE.read_text("utf-8")).body if isinstance(node, ast.If))
    imports = (node for each in guarded for node in each.body if isinstance(node, ast.ImportFrom))
    return {alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("name", shipmate.__all__)
def test_h6_an_exported_name_is_there_described_and_documented(name: str) -> None:
    thing = getattr(shipmate, name)
    assert thing is not None
    assert name in dir(shipmate)
    assert f"`{name}`" in DOCUMENT.read_text("utf-8"), f"docs/python.md does not mention {name}"
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert inspect.getdoc(thing)


def test_h6_the_list_is_sorted_and_what_a_type_checker_sees() -> None:
    assert list(shipmate.__all__) == sorted(set(shipmate.__all__))
    assert typed_names() == set(shipmate.__all__)


def test_h6_every_error_is_exported() -> None:
    raised = {name for name, thing in vars(errors).items() if inspect.isclass(thing)}
    assert raised <= set(shipmate.__all__)
    assert {name for name in shipmate.__all__ if name.endswith("Error")} == raised


def test_h6_importing_the_package_loads_nothing_of_it() -> None:
    script = (
        "import sys; before = set(sys.modules); import shipmate; new = set(sys.modules) - before; "
        "print(sorted(name for name in new if name.split('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['shipmate']"


def test_h6_everything_can_be_taken_at_once() -> None:
    script = "from shipmate import *; print(Shipmate.__name__, UserError.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Shipmate", "UserError"]


def test_an_unknown_name_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = shipmate.nonsense  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
