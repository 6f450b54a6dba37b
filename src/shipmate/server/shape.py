"""Describe requests, for checking and for /openapi.json. Unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints
from pydantic.alias_generators import to_camel

Slot = Annotated[str, StringConstraints(max_length=200)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=400_000)]
Version = Annotated[str, StringConstraints(max_length=64)] | None


class Shape(BaseModel):
    """One JSON object; keys are camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class Login(Shape):
    """The token a person typed."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Setup(Shape):
    """The example a person chose."""

    example: Slot
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)] | None = None
    text: Words | None = None


class KeyTest(Shape):
    """A provider and a key to try."""

    provider: Slot
    model: Slot | None = None
    api_key: Annotated[str, StringConstraints(max_length=2000)] | None = None
    base_url: Annotated[str, StringConstraints(max_length=2000)] | None = None


class PrimingChoice(Shape):
    """The priming scripts of a new dialog."""

    script_refs: Annotated[list[Slot], Field(max_length=20)] = []
    show_in_ui: bool = True


class NewThread(Shape):
    """The request for a new dialog."""

    member: Slot | None = None
    title: Slot | None = None
    priming: PrimingChoice | None = None


class ThreadChange(Shape):
    """A change to what a list shows of a thread."""

    title: Slot | None = None
    archived: StrictBool | None = None
    read: StrictBool | None = None


class Said(Shape):
    """A person's words."""

    text: Words
    message_id: Slot | None = None


class NewPin(Shape):
    """What to pin: a text, or else the words of a message."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=4000)] | None = None
    message_id: Slot | None = None


class Branch(Shape):
    """The message to go back to."""

    message_id: Slot
    text: Words | None = None


class DecisionBody(Shape):
    """A decision on an approval."""

    approved: StrictBool
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None
    scope: Annotated[str, StringConstraints(pattern=r"^(once|thread|always|[1-9][0-9]{0,4}m)$")] = "once"


class JointDecisionBody(Shape):
    """A decision on several approvals of one thread at once: all of them, or none."""

    ids: Annotated[list[Slot], Field(min_length=1, max_length=100)]
    approved: StrictBool
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None


class SaveScript(Shape):
    """The request to save a course as a priming script."""

    thread_id: Slot
    course: Annotated[int, Field(ge=1)] | None = None
    slug: Slot
    overwrite: StrictBool = False
    title: Slot | None = None


class DocumentChange(Shape):
    """The new text of a document."""

    text: Annotated[str, StringConstraints(max_length=500_000)]
    version: Version = None
