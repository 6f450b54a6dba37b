"""Describe requests, for checking and for /openapi.json. Unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints
from pydantic.alias_generators import to_camel

Slot = Annotated[str, StringConstraints(max_length=200)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=400_000)]
Version = Annotated[str, StringConstraints(max_length=64)] | None


class Shape(BaseModel):
    """Be one JSON object; keys are camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class Login(Shape):
    """Carry the token a person typed."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Setup(Shape):
    """Choose an example."""

    example: Slot
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)] | None = None
    text: Words | None = None


class KeyTest(Shape):
    """Name a provider and a key to try."""

    provider: Slot
    model: Slot | None = None
    api_key: Annotated[str, StringConstraints(max_length=2000)] | None = None
    base_url: Annotated[str, StringConstraints(max_length=2000)] | None = None


class PrimingChoice(Shape):
    """Choose priming scripts for a new dialog."""

    script_refs: Annotated[list[Slot], Field(max_length=20)] = []
    show_in_ui: bool = True


class NewThread(Shape):
    """Ask for a new dialog."""

    member: Slot | None = None
    title: Slot | None = None
    priming: PrimingChoice | None = None


class ThreadChange(Shape):
    """Change what a list shows of a thread."""

    title: Slot | None = None
    archived: StrictBool | None = None
    read: StrictBool | None = None


class Said(Shape):
    """Carry a person's words."""

    text: Words
    message_id: Slot | None = None


class NewPin(Shape):
    """Choose what to pin: a text, or else the words of a message."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=4000)] | None = None
    message_id: Slot | None = None


class Branch(Shape):
    """Choose the message to go back to."""

    message_id: Slot
    text: Words | None = None


class DecisionBody(Shape):
    """Decide an approval."""

    approved: StrictBool
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None
    scope: Annotated[str, StringConstraints(pattern=r"^(once|thread|always|[1-9][0-9]{0,4}m)$")] = "once"


class JointDecisionBody(Shape):
    """Decide several approvals of one thread at once: all of them, or none."""

    ids: Annotated[list[Slot], Field(min_length=1, max_length=100)]
    approved: StrictBool
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None


class SaveScript(Shape):
    """Save a course as a priming script."""

    thread_id: Slot
    course: Annotated[int, Field(ge=1)] | None = None
    slug: Slot
    overwrite: StrictBool = False
    title: Slot | None = None


class DocumentChange(Shape):
    """Replace a document."""

    text: Annotated[str, StringConstraints(max_length=500_000)]
    version: Version = None
