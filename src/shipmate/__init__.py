"""Run AI crew members that are defined in plain Markdown."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.approvals.service import ApprovalService
    from shipmate.context.builder import ContextBuilder, MemoryStore
    from shipmate.crew.prompt_build import ContextMessage, PromptInput, PromptOutput, build_prompt
    from shipmate.delivery.adapter import Adapter, Button, OutgoingMessage
    from shipmate.errors import (
        ApprovalError,
        ConfigError,
        ContextTooLongError,
        DecodingError,
        DecodingLimitError,
        EditGoneError,
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
        PatternError,
        PrimingError,
        PromptTooLongError,
        RewindError,
        SendError,
        SendLaterError,
        SendRefusedError,
        ShipmateError,
        SlowPatternError,
        SpeechError,
        StorageError,
        TargetChangedError,
        ThreadIdError,
        ToolError,
        ToolInputError,
        UserError,
        WorkspaceError,
    )
    from shipmate.memory.service import MemoryService
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
    from shipmate.values.adapter_event import AdapterEvent, Chat, HeardEvent, RemoteFile, Speaker
    from shipmate.values.event import (
        AdapterCapabilities,
        ApprovalReplyEvent,
        Attachment,
        CommandEvent,
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
    from shipmate.workspace.config import AdapterSettings

__version__ = "0.1.0"

# Where each public name lives; it is imported when first used, so that `import shipmate` costs nothing.
_HOMES = {
    "Adapter": "delivery.adapter",
    "AdapterCapabilities": "values.event",
    "AdapterEvent": "values.adapter_event",
    "AdapterSettings": "workspace.config",
    "AgentOrchestrator": "orchestrator.loop",
    "ApprovalError": "errors",
    "ApprovalReplyEvent": "values.event",
    "ApprovalService": "approvals.service",
    "Attachment": "values.event",
    "Button": "delivery.adapter",
    "Chat": "values.adapter_event",
    "CommandEvent": "values.event",
    "ConfigError": "errors",
    "ContextBuilder": "context.builder",
    "ContextMessage": "crew.prompt_build",
    "ContextTooLongError": "errors",
    "CourseEvent": "values.event",
    "DecodingError": "errors",
    "DecodingLimitError": "errors",
    "EditGoneError": "errors",
    "EgressMessage": "values.event",
    "FeedEvent": "orchestrator.feed",
    "Finish": "models.port",
    "HeardEvent": "values.adapter_event",
    "IngressEvent": "values.event",
    "KeeperError": "errors",
    "Labels": "tools.tool",
    "MediaError": "errors",
    "MemberError": "errors",
    "MemoryLog": "thread.memory_log",
    "MemoryService": "memory.service",
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
    "OutgoingMessage": "delivery.adapter",
    "PathError": "errors",
    "PinEvent": "values.event",
    "PatternError": "errors",
    "PrimingError": "errors",
    "PromptInput": "crew.prompt_build",
    "PromptOutput": "crew.prompt_build",
    "PromptTooLongError": "errors",
    "SlowPatternError": "errors",
    "Receipt": "orchestrator.feed",
    "RehearsalModel": "models.rehearsal.rehearsal",
    "RemoteFile": "values.adapter_event",
    "RetryEvent": "values.event",
    "RewindError": "errors",
    "ScriptedModel": "models.scripted",
    "SendError": "errors",
    "SendLaterError": "errors",
    "SendRefusedError": "errors",
    "SpeechError": "errors",
    "Shipmate": "app",
    "ShipmateError": "errors",
    "Speaker": "values.adapter_event",
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
    "build_prompt": "crew.prompt_build",
    "call": "models.scripted",
    "timestamp": "values.message",
    "to_model_messages": "models.to_model",
    "to_ui_messages_delta": "orchestrator.reduce",
}

__all__ = [
    "Adapter",
    "AdapterCapabilities",
    "AdapterEvent",
    "AdapterSettings",
    "AgentOrchestrator",
    "ApprovalError",
    "ApprovalReplyEvent",
    "ApprovalService",
    "Attachment",
    "Button",
    "Chat",
    "CommandEvent",
    "ConfigError",
    "ContextBuilder",
    "ContextMessage",
    "ContextTooLongError",
    "CourseEvent",
    "DecodingError",
    "DecodingLimitError",
    "EditGoneError",
    "EgressMessage",
    "FeedEvent",
    "Finish",
    "HeardEvent",
    "IngressEvent",
    "KeeperError",
    "Labels",
    "MediaError",
    "MemberError",
    "MemoryLog",
    "MemoryService",
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
    "OutgoingMessage",
    "PathError",
    "PatternError",
    "PinEvent",
    "PrimingError",
    "PromptInput",
    "PromptOutput",
    "PromptTooLongError",
    "Receipt",
    "RehearsalModel",
    "RemoteFile",
    "RetryEvent",
    "RewindError",
    "ScriptedModel",
    "SendError",
    "SendLaterError",
    "SendRefusedError",
    "Shipmate",
    "ShipmateError",
    "SlowPatternError",
    "Speaker",
    "SpeechError",
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
    "build_prompt",
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
