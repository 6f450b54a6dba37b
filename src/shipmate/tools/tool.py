"""Define what a tool is: a name, a small schema, labels, and one method that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from shipmate.errors import ToolInputError
from shipmate.models.port import ToolSpec
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.config import Server
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member
from shipmate.workspace.upload import UploadFolder, Uploads

if TYPE_CHECKING:
    from shipmate.tools.file.sharing import Shares

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool touches; policy is computed from this."""

    # Brings text into the run that strangers may have written.
    reads_untrusted: bool = False
    # Shows the model what is not public.
    reads_private: bool = False
    # Changes state or reaches the outside; such a call asks unless a rule or grant allows it.
    acts: bool = False
    # A person is asked, whatever the mode and the rules say; only a rule that denies it comes before.
    asks: bool = False

    @property
    def is_read_only(self) -> bool:
        return not self.acts


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """On whose behalf and where a tool runs."""

    member: Member
    thread_id: str
    run_id: str
    call_id: str
    user_id: str = ""
    # The target a person approved; `run` raises `TargetChangedError` where it no longer is as they saw it.
    expected: JsonObject | None = None
    # The people whose words are in the turn; `user_id` is the last of them.
    initiators: tuple[str, ...] = ()
    # Whether a call may be tried before a person is asked, and which paths no answer lets it change.
    is_tried: bool = True
    forbids: Callable[[Sequence[str]], bool] | None = None
    # Strangers may have written into the thread.
    is_tainted: bool = False
    # Where files that come out of a call are kept; in the workspace's own folder when nobody says.
    files: Uploads | None = None
    # Where files get an address that are too large for the thread's platform; without, none does.
    sharing: Shares | None = None

    @property
    def layout(self) -> Layout:
        return self.member.layout

    @property
    def uploads(self) -> Uploads:
        """Return where files that come out of the call are kept."""
        return self.files or UploadFolder(self.layout)

    @property
    def shares(self) -> Shares:
        """Return what shares files that are too large to be sent."""
        from shipmate.tools.file.sharing import Shares

        return self.sharing or Shares(self.layout, Server())

    @property
    def folder(self) -> Path:
        """Return the working folder: the workspace."""
        return self.layout.root


class Picture(msgspec.Struct, frozen=True):
    """What a person is shown before a call is made, and the state of the world it was made from."""

    # All that the call would do; None when it cannot be shown, and so cannot be approved.
    text: str | None
    # What the call would act on, links resolved, and how that stood.
    target: JsonObject = {}
    # What the call gave, when it was tried and turned out to change nothing: then nobody need be asked.
    result: ToolResult | None = None


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gave: JSON for the thread and the model, and files to show."""

    output: Any
    # AI SDK `file` parts to show beside the call.
    files: tuple[JsonObject, ...] = ()
    # The name and the content of a data part that people see; a message has one of each name.
    data: tuple[str, JsonObject] | None = None


class Tool(ABC, Generic[Arguments]):
    """One tool. A subclass names itself, its argument struct and its labels, and implements `run`."""

    name: str
    description: str
    arguments: type[Arguments]
    # Further names a model may call the tool by, and further names of its arguments; no prompt mentions them.
    aliases: tuple[str, ...] = ()
    synonyms: ClassVar[Mapping[str, str]] = {}
    labels: Labels = Labels()
    # Whether what acts changes what the member is: a person is asked each time, whatever rules and mode say.
    forms_member: bool = False
    # Whether others act on its behalf, so that a plan must be agreed first where one is wanted.
    delegates: bool = False
    # Arguments whose values stand in no thread, question or log; the tool gets a `sealed:` reference.
    sealed: frozenset[str] = frozenset()
    # How many characters of output the model and the thread get; the rest stays in the call's log.
    budget: ClassVar[int] = 16_000

    def spec(self) -> ToolSpec:
        """Describe the tool to a model."""
        return ToolSpec(self.name, self.description, argument_schema(self.arguments))

    def translate(self, arguments: JsonObject) -> JsonObject:
        """Return arguments under the names they have here; what a name already has is not replaced."""
        if self.synonyms.keys().isdisjoint(arguments):
            return arguments
        names = {key: self.synonyms.get(key, key) for key in arguments}
        return {key if names[key] in arguments else names[key]: value for key, value in arguments.items()}

    def parse(self, arguments: JsonObject) -> Arguments:
        """Check arguments against the schema; a number or a boolean written as a string is read as meant."""
        try:
            return msgspec.convert(self.translate(arguments), self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolInputError(f"{self.name}: {error}. Nothing ran.") from error

    def labels_for(self, arguments: Arguments) -> Labels:
        """Return the labels of one call, where they depend on its arguments."""
        return self.labels

    def vouches(self, output: Any) -> bool:
        """Return whether an output of a tool that may bring strangers' text surely holds none."""
        return False

    async def meaning(self) -> str | None:
        """Return a hash of what a foreign tool says it is by now: grants are bound to it beside the call."""
        return None

    def is_tried(self, arguments: Arguments) -> bool:
        """Return whether making a call's picture runs it, with its effects kept apart."""
        return False

    async def picture(self, arguments: Arguments, context: ToolContext) -> Picture:
        """Return what a person is shown before the call is made, and the target it was made from."""
        return Picture(reveal(msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()))

    @abstractmethod
    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Do the work, or raise a `ToolError` the model can learn from."""

    async def close(self) -> None:
        """End what the tool still has running."""
        return


@cache
def argument_schema(arguments: type[msgspec.Struct]) -> JsonObject:
    """Make the smallest JSON Schema a model needs for a struct of arguments."""
    (_,), components = msgspec.json.schema_components([arguments])
    schema = dict(components[arguments.__name__])
    # `parse` refuses unknown names whether the schema spends bytes on saying so or not.
    for key in ("title", "description", "additionalProperties"):
        schema.pop(key, None)
    if not schema.get("required"):
        schema.pop("required", None)
    for name, field in schema["properties"].items():
        schema["properties"][name] = {key: value for key, value in field.items() if key != "default" or value}
    return schema
