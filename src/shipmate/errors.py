"""Define every error Shipmate raises.

    ShipmateError
    ├── UserError                 a mistake a person can mend: one line, exit code 2
    │   ├── WorkspaceError        no Agent.md, or a folder that cannot be used
    │   ├── ConfigError           ship.json cannot be read or does not fit
    │   │   └── MemberError       the files of one member cannot; the others work
    │   ├── ThreadIdError         a thread id that is not platform:scopeType:scopeId
    │   ├── NotFoundError         a thread, approval, script or file that does not exist
    │   ├── PathError             a path that leaves the folder it must stay in
    │   ├── MediaError            an attachment that is no image, or too large
    │   ├── PrimingError          a priming script that breaks the format
    │   ├── ApprovalError         an answer that cannot be taken
    │   ├── PromptTooLongError    what a program must be sent is more than it may be
    │   └── RewindError           a run whose files can no longer be put back
    ├── StorageError              the disk or the index refused
    ├── KeeperError               the process that keeps the workspace does not answer
    ├── ModelError                trouble at a model
    │   ├── ModelAuthError        the key is missing or refused
    │   ├── ModelRequestError     the provider does not accept the request
    │   ├── ContextTooLongError   the request does not fit the model's window
    │   ├── ModelBusyError        rate limit or overload (retryable)
    │   ├── ModelDownError        cannot be reached, or a server error (retryable)
    │   └── ModelStreamError      the answer broke off or was rubbish (retryable)
    ├── SendError                 a platform did not take a message, or may not have
    │   ├── SendRefusedError      it never will
    │   ├── SendLaterError        nothing was sent; it may be tried again
    │   └── EditGoneError         the message that was to be changed is not there any more
    ├── SpeechError               a recording that has no words to be had, or words that cannot be spoken
    ├── DecodingError             bytes from outside that cannot be read within their limits
    │   └── DecodingLimitError    they took more time or memory than they may
    └── ToolError                 a tool could not do what was asked; the model is told
        ├── ToolInputError        the arguments do not fit the tool
        └── TargetChangedError    what was approved is no longer as it was shown

A class's docstring is the message a person reads when nothing more exact is known, and says what to do next.
"""

from __future__ import annotations


class ShipmateError(Exception):
    """Something went wrong in Shipmate."""

    exit_code = 1

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.general())

    @classmethod
    def general(cls) -> str:
        """Return what can be said when nothing more exact is known."""
        return " ".join((cls.__doc__ or "").split())


class UserError(ShipmateError):
    """This cannot be done as asked."""

    exit_code = 2


class WorkspaceError(UserError):
    """There is no Agent.md here. Run `shipmate init` to make one."""


class ConfigError(UserError):
    """ship.json cannot be used. Run `shipmate doctor` to see what to change."""


class MemberError(ConfigError):
    """A member's files cannot be used. Run `shipmate doctor` to see what to mend; the others work."""


class ThreadIdError(UserError):
    """That is not a thread id. Write platform:scopeType:scopeId, for example web:room:1."""


class NotFoundError(UserError):
    """There is nothing of that name. List what exists and try again."""


class PathError(UserError):
    """That path leaves the folder it must stay in. Give a path inside the workspace."""


class MediaError(UserError):
    """That file cannot be attached. Give a PNG, JPEG, GIF or WebP image of at most 20 MB."""


class PrimingError(UserError):
    """That priming script breaks the format. Run `shipmate priming check` to see where."""


class PatternError(UserError):
    """That is no pattern to search with. Write a simpler one."""


class SlowPatternError(PatternError):
    """That pattern takes too long. Write a simpler one."""


class ApprovalError(UserError):
    """That answer cannot be taken. Run `shipmate approvals list` to see what is waiting."""


class PromptTooLongError(UserError):
    """What must be sent is more than a program takes. Shorten the message, or put long text into a file."""


class RewindError(UserError):
    """That run's files were changed since, so nothing was put back. Look at them, and change them by hand."""


class StorageError(ShipmateError):
    """The disk refused a write. Free space or mend the permissions, then send the message again."""


class FencedError(StorageError):
    """Another worker has taken this thread over, so nothing more is written here. It goes on there."""


class KeeperError(ShipmateError):
    """The process that keeps this workspace does not answer. Wait for it, or end it: its number is in
    .ship/keeper.lock. What was sent may be done later; look at the thread before you send it again."""


class ModelError(ShipmateError):
    """The model could not answer. Try again, or choose another model in ship.json."""

    retryable = False
    # One word for programs, which cannot tell errors apart by their sentences.
    kind = "model"

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelAuthError(ModelError):
    """The provider refused the key. Set the right one in ship.json or the environment."""

    kind = "auth"


class ModelRequestError(ModelError):
    """The provider does not accept this request. Check the model name in ship.json."""

    kind = "request"


class ContextTooLongError(ModelError):
    """The conversation no longer fits the model's window. Sum it up with /compact, or open a new course:
    /course in the terminal, /new in a chat, “New course” on the page, or `shipmate threads new-course`."""

    kind = "context"


class ModelBusyError(ModelError):
    """The provider is over its limit. Wait a little and send the message again."""

    retryable = True
    kind = "busy"


class ModelDownError(ModelError):
    """The provider cannot be reached. Check the network and `llm.baseUrl`, then send the message again."""

    retryable = True
    kind = "down"


class ModelStreamError(ModelError):
    """The model's answer broke off. What it said is kept; send the message again to go on."""

    retryable = True
    kind = "stream"


class SendError(ShipmateError):
    """Nobody knows whether the platform took this message. See `shipmate outbox`."""


class SendRefusedError(SendError):
    """The platform does not take this message, and nothing was sent. See `shipmate outbox` for its words."""


class SendLaterError(SendError):
    """The platform takes no message now, and nothing was sent. It is tried again by itself."""

    def __init__(
        self, message: str | None = None, *, retry_after: float | None = None, everywhere: bool = False
    ) -> None:
        super().__init__(message)
        # The seconds to wait, as the platform says; growing pauses when it does not.
        self.retry_after = retry_after
        # The whole bot has to wait, not this chat alone.
        self.everywhere = everywhere


class EditGoneError(SendError):
    """The message to be changed is not there any more. Its words are sent anew."""


class SpeechError(ShipmateError):
    """The recording could not be put into words, or words into a recording. Run `shipmate doctor`."""


class DecodingError(ShipmateError):
    """These bytes could not be read within their limits. Give a smaller or simpler file."""


class DecodingLimitError(DecodingError):
    """These bytes took more time or memory than they may. Give a smaller or simpler file."""


class ToolError(ShipmateError):
    """The tool could not do what was asked."""


class ToolInputError(ToolError):
    """The arguments do not fit the tool. Read its schema and call it again."""


class TargetChangedError(ToolError):
    """What the call acts on has changed since it was shown. Nothing was done."""
