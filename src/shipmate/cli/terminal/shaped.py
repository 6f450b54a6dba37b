"""Answers that must be JSON and fit a schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from shipmate.cli.terminal.attaching import read_given
from shipmate.errors import PatternError, UserError
from shipmate.values.json_schema import find_misfit
from shipmate.values.nesting import check_nesting
from shipmate.values.saying import fill, load_sayings

WORDS = Path(__file__).with_name("words")
# Models like to put JSON into a block of code, whatever they are told.
BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
# No model reads a longer schema than this.
SCHEMA_LIMIT = 1_000_000


class Shaped(msgspec.Struct, frozen=True):
    """What an answer must fit, and how a model is told."""

    schema: Any
    language: str

    def instruct(self, misfit: str = "") -> str:
        """Return what the model is told beside the words; with a misfit, what was wrong before."""
        sayings = load_sayings(WORDS, self.language)
        text = msgspec.json.format(msgspec.json.encode(self.schema)).decode()
        told = fill(sayings["shaped"], {"schema": text})
        return f"{told}\n\n{fill(sayings['shaped-again'], {'misfit': misfit})}" if misfit else told

    def ask_again(self) -> str:
        """Return the words that ask for the answer once more."""
        return load_sayings(WORDS, self.language)["again"]

    def read(self, text: str) -> tuple[Any, str | None]:
        """Return the value an answer holds, and what of it does not fit."""
        block = BLOCK.search(text)
        try:
            value = msgspec.json.decode(check_nesting((block[1] if block else text).strip().encode()))
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return None, f"it is no JSON: {error}"
        try:
            return value, find_misfit(value, self.schema)
        except PatternError as error:
            raise UserError(f"--schema cannot be checked: {error}. Mend it and try again.") from error
        except (TypeError, AttributeError, OverflowError) as error:
            raise UserError(f"--schema is no JSON schema: {error}. Mend it and try again.") from error


def load_schema(given: str, language: str) -> Shaped:
    """Read a schema that was given as JSON, or as the name of a file that holds it."""
    text = given.strip()
    place = "--schema"
    try:
        data = text.encode() if text.startswith("{") else _read(Path(place := text))
        schema = msgspec.json.decode(check_nesting(data))
    except OSError as error:
        raise UserError(f"cannot read {place}: {error.strerror}. Give a file or the schema.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{place} is no JSON: {error}. Mend it and try again.") from error
    if not isinstance(schema, dict):
        raise UserError(f"{place} must hold one JSON object.")
    return Shaped(schema, language)


def _read(path: Path) -> bytes:
    data = read_given(path, SCHEMA_LIMIT + 1)
    if len(data) > SCHEMA_LIMIT:
        raise UserError(f"{path} is larger than any schema. Give another file.")
    return data
