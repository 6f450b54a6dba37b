"""Answer requests, one module to a noun."""

from __future__ import annotations

from shipmate.server import hook
from shipmate.server.routes import (
    approval,
    audit,
    context,
    course,
    knowledge,
    member,
    priming,
    rehearsal,
    run,
    session,
    settings,
    system,
    thread,
    upload,
    usage,
)
from shipmate.server.routes.chat import chat
from shipmate.server.routes.v1 import completion

# Requests are matched in this order: what is asked most comes first.
ROUTERS = (
    chat.router,
    completion.router,
    session.router,
    thread.router,
    run.router,
    course.router,
    approval.router,
    audit.router,
    context.router,
    member.router,
    knowledge.router,
    priming.router,
    rehearsal.router,
    usage.router,
    settings.router,
    upload.router,
    system.router,
    hook.router,
    system.page_router,
)
