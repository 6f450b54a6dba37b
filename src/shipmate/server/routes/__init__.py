"""Answer requests, one module to a noun."""

from __future__ import annotations

from shipmate.server import hook, program_door
from shipmate.server.routes import (
    audit,
    context,
    course,
    event_stream,
    knowledge,
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
from shipmate.server.routes.chat import branch, chat, search
from shipmate.server.routes.consent import approval, permission
from shipmate.server.routes.crew import enlisting, member, memory, studio_thread
from shipmate.server.routes.reach import adapter, outbox, people, shared
from shipmate.server.routes.schedule import task
from shipmate.server.routes.team import account_key, sign_in, thread_sharing, users
from shipmate.server.routes.v1 import completion

# Requests are matched in this order: what is asked most comes first.
ROUTERS = (
    chat.router,
    completion.router,
    session.router,
    event_stream.router,
    thread.router,
    branch.router,
    search.router,
    run.router,
    course.router,
    approval.router,
    audit.router,
    permission.router,
    context.router,
    enlisting.router,
    member.router,
    memory.router,
    studio_thread.router,
    knowledge.router,
    priming.router,
    rehearsal.router,
    task.router,
    usage.router,
    settings.router,
    upload.router,
    adapter.router,
    outbox.router,
    people.router,
    sign_in.router,
    account_key.router,
    users.router,
    thread_sharing.router,
    shared.router,
    system.router,
    hook.router,
    program_door.router,
    system.page_router,
)
