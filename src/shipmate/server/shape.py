"""What goes over the wire, described once: requests are checked by their types, answers made of theirs."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from shipmate.priming.script.near_key import find_near
from shipmate.values.message import JsonObject

Slot = Annotated[str, StringConstraints(max_length=200)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=400_000)]
# What a route says of itself until the description puts the types in.
ANSWER, BODY, OR_NULL = "x-shipmate-answer", "x-shipmate-body", "x-shipmate-or-null"
# Every type that a route takes raw or answers with, by its name.
DESCRIBED: dict[str, Any] = {}


class Shape(BaseModel):
    """The JSON object of a request; keys are camelCase, unknown ones are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class ExactShape(Shape):
    """The JSON object of a request in which an unknown key is a mistake: it would be lost silently."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        known = [to_camel(name) for name in cls.model_fields]
        for key in given if isinstance(given, dict) else ():
            if key not in known and key not in cls.model_fields:
                wanted = find_near(key, known) or ", ".join(known)
                raise ValueError(f"there is no {key[:60]!r} here. Write {wanted}")
        return given


class Answer(msgspec.Struct, rename="camel"):
    """The JSON object of an answer; keys are camelCase, in the order of the fields."""


class Localized(Answer):
    """The same words in both languages."""

    en: str
    zh: str


class Json(Response):
    """A response that sends a value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def tells(answer: type[msgspec.Struct], *, is_open: bool = False, or_null: bool = False) -> JsonObject:
    """Say what a route answers with, whether it may be null, and whether strangers may ask."""
    DESCRIBED[answer.__name__] = answer
    return {
        ANSWER: answer.__name__,
        **({OR_NULL: True} if or_null else {}),
        **({"security": []} if is_open else {}),
    }


def takes(body: type[msgspec.Struct]) -> JsonObject:
    """Say what a route decodes by itself from the body of a request."""
    DESCRIBED[body.__name__] = body
    return {BODY: body.__name__}


def empty() -> Response:
    """Say that it is done and there is nothing to tell."""
    return Response(status_code=204)
