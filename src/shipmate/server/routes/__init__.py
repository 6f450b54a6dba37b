"""Answer requests, one module to a noun."""

from __future__ import annotations

from shipmate.server.routes import member, session, system, upload

# The page comes last: it answers every address the others leave over.
ROUTERS = (
    session.router,
    member.router,
    upload.router,
    system.router,
    system.page_router,
)
