from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.slow import build_slowly
from shipmate.workspace.yaml.yaml import read_yaml
from tests.support.priming_strategy import texts
from tests.support.search import examples
from tests.support.yaml_strategy import WORDS, blocks, documents

EXAMPLES = examples(200)


def read_slowly(text: str) -> Any:
    try:
        return build_slowly(text)
    except YamlError as error:
        return f"refused in line {error.line}"


def read_either_way(text: str) -> Any:
    try:
        return read_yaml(text)[0]
    except YamlError as error:
        return f"refused in line {error.line}"


@pytest.mark.parametrize(
    "shape",
    [
        "a: {}",
        "a: {}\nb: 1\n",
        "a: {}\n  more\n",
        "a:\n- {}\n- x\n",
        "a:\n- {}\n  more\n",
        "a:\n  b: {}\n\n# c\n",
    ],
)
def test_the_fast_path_reads_every_word_as_the_whole_parser_does(shape: str) -> None:
    filled = [shape.replace("{}", word) for word in WORDS]
    assert repr([read_either_way(text) for text in filled]) == repr([read_slowly(text) for text in filled])


@settings(max_examples=EXAMPLES)
@given(documents())
def test_the_fast_path_reads_what_the_whole_parser_reads(text: str) -> None:
    assert repr(read_either_way(text)) == repr(read_slowly(text))


@settings(max_examples=EXAMPLES)
@given(blocks())
@example("a: |\n  x\n    \n")
@example("a: |-\n  x\n    \n  y\n")
@example("a: >\n\n  x\n")
@example("a: >\n  x")
def test_the_fast_path_reads_blocks_as_the_whole_parser_does(text: str) -> None:
    assert repr(read_either_way(text)) == repr(read_slowly(text))


@settings(max_examples=EXAMPLES)
@given(texts | st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert repr(read_either_way(text)) == repr(read_slowly(text))


def test_exported_metadata_never_needs_the_slow_parser() -> None:
    text = (
        "genseq: 1\nmsgId: m-1\nreasoning:\n  summary:\n    - type: summary_text\n      text: 先探针\n"
        '  metadata:\n    itemId: rs_1\nuiMessage: {"id": "a", "role": "user"}\nlist:\n- a\n- 2\n'
    )
    assert read_yaml(text) == (
        {
            "genseq": 1,
            "msgId": "m-1",
            "reasoning": {
                "summary": [{"type": "summary_text", "text": "先探针"}],
                "metadata": {"itemId": "rs_1"},
            },
            "uiMessage": {"id": "a", "role": "user"},
            "list": ["a", 2],
        },
        False,
    )


FRONT = """\
# What this skill is called

name: git
description: >-
  Two lines
  of text

  and a paragraph

homepage: https://example.org  # where it lives
note: 'it''s "quoted"'
always: true
metadata:
  # who asks for what
  nanobot:
    requires:
      bins: [git, 'gh']

      env:
      - TOKEN
extra: {"os": ["linux"], "emoji": "\\t"}
example: |
  def f():
    return 1

"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_front_matter_never_needs_the_slow_parser(newline: str) -> None:
    assert read_yaml(FRONT.replace("\n", newline)) == (
        {
            "name": "git",
            "description": "Two lines of text\nand a paragraph",
            "homepage": "https://example.org",
            "note": 'it\'s "quoted"',
            "always": True,
            "metadata": {"nanobot": {"requires": {"bins": ["git", "gh"], "env": ["TOKEN"]}}},
            "extra": {"os": ["linux"], "emoji": "\t"},
            "example": "def f():\n  return 1\n",
        },
        False,
    )
    assert repr(build_slowly(FRONT)) == repr(read_yaml(FRONT)[0])


@pytest.mark.parametrize("word", ["no", "on", "1_000", "12:30:45", "2026-03-01", "=", "+1x", "<<"])
def test_reads_by_the_core_schema(word: str) -> None:
    assert read_yaml(f"a: {word}")[0] == {"a": word}
    assert build_slowly(f"a: {word}") == {"a": word}
