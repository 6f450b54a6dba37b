from __future__ import annotations

import pytest

from shipmate.workspace.frontmatter import read_frontmatter


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_splits_front_matter_from_body(newline: str) -> None:
    text = newline.join(["---", "name: a", "---", "# Body", "---", "more"])
    found = read_frontmatter(text)
    assert found.data == {"name": "a"}
    assert found.body == newline.join(["# Body", "---", "more"])
    assert found.problem == ""


def test_takes_a_text_without_front_matter_whole() -> None:
    assert read_frontmatter("# Title\n\n---\nx").body == "# Title\n\n---\nx"
    assert read_frontmatter("---\nnever closed").body == "---\nnever closed"


def test_says_why_front_matter_is_broken_and_keeps_the_body() -> None:
    found = read_frontmatter("---\nname: [a\n---\nBody")
    assert found.data == {}
    assert found.body == "Body"
    assert found.problem


def test_refuses_front_matter_that_is_no_mapping() -> None:
    found = read_frontmatter("---\n- a\n---\nBody")
    assert (found.data, found.body) == ({}, "Body")
    assert "key: value" in found.problem


def test_takes_empty_front_matter() -> None:
    assert read_frontmatter("---\n---\nBody").data == {}


def test_names_the_line_of_the_file_that_is_broken() -> None:
    assert read_frontmatter("---\nname: a\ndescription: b: c\n---\n").problem.startswith("line 3: ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_h5_front_matter_is_found_whatever_its_line_ends(end: str) -> None:
    found = read_frontmatter("---\nname: git\nalways: true\n---\nBody.\n".replace("\n", end))
    assert found.data == {"name": "git", "always": True}
    assert found.body.strip() == "Body."
    assert found.problem == ""
