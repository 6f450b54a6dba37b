"""Run AI crew members that are defined in plain Markdown."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shipmate.app import Shipmate
    from shipmate.approvals.service import ApprovalService
    from shipmate.context.builder import ContextBuilder
    from shipmate.models.rehearsal import RehearsalModel
    from shipmate.models.scripted import ScriptedModel
    from shipmate.models.to_model import to_model_messages
    from shipmate.orchestrator.loop import AgentOrchestrator
    from shipmate.orchestrator.reduce import to_ui_messages_delta
    from shipmate.store.memory import MemoryStore
    from shipmate.thread.memory_log import MemoryLog
    from shipmate.thread.service import ThreadService
    from shipmate.values.event import AdapterCapabilities, EgressMessage, IngressEvent
    from shipmate.values.message import UIMessage
    from shipmate.values.thread_id import ThreadId

__version__ = "0.1.0"

# Where each public name lives; it is imported when first used, so that `import shipmate` costs nothing.
_HOMES = {
    "AdapterCapabilities": "values.event",
    "AgentOrchestrator": "orchestrator.loop",
    "ApprovalService": "approvals.service",
    "ContextBuilder": "context.builder",
    "EgressMessage": "values.event",
    "IngressEvent": "values.event",
    "MemoryLog": "thread.memory_log",
    "MemoryStore": "store.memory",
    "RehearsalModel": "models.rehearsal",
    "ScriptedModel": "models.scripted",
    "Shipmate": "app",
    "ThreadId": "values.thread_id",
    "ThreadService": "thread.service",
    "UIMessage": "values.message",
    "to_model_messages": "models.to_model",
    "to_ui_messages_delta": "orchestrator.reduce",
}

__all__ = [
    "AdapterCapabilities",
    "AgentOrchestrator",
    "ApprovalService",
    "ContextBuilder",
    "EgressMessage",
    "IngressEvent",
    "MemoryLog",
    "MemoryStore",
    "RehearsalModel",
    "ScriptedModel",
    "Shipmate",
    "ThreadId",
    "ThreadService",
    "UIMessage",
    "to_model_messages",
    "to_ui_messages_delta",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'shipmate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"shipmate.{home}"), name)
