"""Run AI crew members that are defined in plain Markdown."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.approvals.service import ApprovalService
    from shipmate.context.builder import ContextBuilder, MemoryStore
    from shipmate.errors import (
        ApprovalError,
        ConfigError,
        ContextTooLongError,
        DecodingError,
        DecodingLimitError,
        KeeperError,
        MediaError,
        MemberError,
        ModelAuthError,
        ModelBusyError,
        ModelDownError,
        ModelError,
        ModelRequestError,
        ModelStreamError,
        NotFoundError,
        PathError,
        PrimingError,
        RewindError,
        ShipmateError,
        StorageError,
        TargetChangedError,
        ThreadIdError,
        ToolError,
        ToolInputError,
        UserError,
        WorkspaceError,
    )
    from shipmate.models.port import Finish, Model, ModelRequest, TextDelta
    from shipmate.models.rehearsal.rehearsal import RehearsalModel
    from shipmate.models.scripted import ScriptedModel, call
    from shipmate.models.to_model import to_model_messages
    from shipmate.orchestrator.feed import FeedEvent, Receipt
    from shipmate.orchestrator.loop import AgentOrchestrator
    from shipmate.orchestrator.reduce import to_ui_messages_delta
    from shipmate.store.transient_store import TransientStore
    from shipmate.thread.memory_log import MemoryLog
    from shipmate.thread.service import ThreadService
    from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
    from shipmate.tools.toolset import Toolset
    from shipmate.values.event import (
        AdapterCapabilities,
        ApprovalReplyEvent,
        Attachment,
        CourseEvent,
        EgressMessage,
        IngressEvent,
        Outcome,
        PinEvent,
        RetryEvent,
        TextEvent,
        VoiceEvent,
    )
    from shipmate.values.message import UIMessage, timestamp
    from shipmate.values.thread_id import ThreadId

__version__ = "0.1.0"

# Where each public name lives; it is imported when first used, so that `import shipmate` costs nothing.
_HOMES = {
    "AdapterCapabilities": "values.event",
    "AgentOrchestrator": "orchestrator.loop",
    "ApprovalError": "errors",
    "ApprovalReplyEvent": "values.event",
    "ApprovalService": "approvals.service",
    "Attachment": "values.event",
    "ConfigError": "errors",
    "ContextBuilder": "context.builder",
    "ContextTooLongError": "errors",
    "DecodingError": "errors",
    "DecodingLimitError": "errors",
    "CourseEvent": "values.event",
    "EgressMessage": "values.event",
    "FeedEvent": "orchestrator.feed",
    "Finish": "models.port",
    "IngressEvent": "values.event",
    "KeeperError": "errors",
    "Labels": "tools.tool",
    "MediaError": "errors",
    "MemberError": "errors",
    "MemoryLog": "thread.memory_log",
    "MemoryStore": "context.builder",
    "Model": "models.port",
    "ModelAuthError": "errors",
    "ModelBusyError": "errors",
    "ModelDownError": "errors",
    "ModelError": "errors",
    "ModelRequest": "models.port",
    "ModelRequestError": "errors",
    "ModelStreamError": "errors",
    "NotFoundError": "errors",
    "Outcome": "values.event",
    "PathError": "errors",
    "PrimingError": "errors",
    "PinEvent": "values.event",
    "Receipt": "orchestrator.feed",
    "RehearsalModel": "models.rehearsal.rehearsal",
    "RetryEvent": "values.event",
    "RewindError": "errors",
    "ScriptedModel": "models.scripted",
    "Shipmate": "app",
    "ShipmateError": "errors",
    "StorageError": "errors",
    "TargetChangedError": "errors",
    "TextDelta": "models.port",
    "TextEvent": "values.event",
    "ThreadId": "values.thread_id",
    "ThreadIdError": "errors",
    "ThreadService": "thread.service",
    "Tool": "tools.tool",
    "ToolContext": "tools.tool",
    "ToolError": "errors",
    "ToolInputError": "errors",
    "ToolResult": "tools.tool",
    "Toolset": "tools.toolset",
    "TransientStore": "store.transient_store",
    "UIMessage": "values.message",
    "UserError": "errors",
    "VoiceEvent": "values.event",
    "WorkspaceError": "errors",
    "call": "models.scripted",
    "timestamp": "values.message",
    "to_model_messages": "models.to_model",
    "to_ui_messages_delta": "orchestrator.reduce",
}

__all__ = [
    "AdapterCapabilities",
    "AgentOrchestrator",
    "ApprovalError",
    "ApprovalReplyEvent",
    "ApprovalService",
    "Attachment",
    "ConfigError",
    "ContextBuilder",
    "ContextTooLongError",
    "CourseEvent",
    "DecodingError",
    "DecodingLimitError",
    "EgressMessage",
    "FeedEvent",
    "Finish",
    "IngressEvent",
    "KeeperError",
    "Labels",
    "MediaError",
    "MemberError",
    "MemoryLog",
    "MemoryStore",
    "Model",
    "ModelAuthError",
    "ModelBusyError",
    "ModelDownError",
    "ModelError",
    "ModelRequest",
    "ModelRequestError",
    "ModelStreamError",
    "NotFoundError",
    "Outcome",
    "PathError",
    "PinEvent",
    "PrimingError",
    "Receipt",
    "RehearsalModel",
    "RetryEvent",
    "RewindError",
    "ScriptedModel",
    "Shipmate",
    "ShipmateError",
    "StorageError",
    "TargetChangedError",
    "TextDelta",
    "TextEvent",
    "ThreadId",
    "ThreadIdError",
    "ThreadService",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolInputError",
    "ToolResult",
    "Toolset",
    "TransientStore",
    "UIMessage",
    "UserError",
    "VoiceEvent",
    "WorkspaceError",
    "call",
    "timestamp",
    "to_model_messages",
    "to_ui_messages_delta",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'shipmate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"shipmate.{home}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
