"""Count what the server does and tell it in the Prometheus text format."""

from __future__ import annotations

import time
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """The server's counters; one process, one event loop, so no locks."""

    def __init__(self) -> None:
        self.requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the template, never the address itself."""
        self.requests[method, route, status] += 1
        self.seconds += seconds
        place = next((i for i, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self.buckets[place] += 1

    def lines(self) -> list[str]:
        """Return the text exposition."""
        out = ["# TYPE shipmate_http_requests_total counter"]
        for (method, route, status), count in sorted(self.requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            out.append(f"shipmate_http_requests_total{{{labels}}} {count}")
        out.append("# TYPE shipmate_http_request_seconds histogram")
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.buckets, strict=True):
            total += count
            out.append(f'shipmate_http_request_seconds_bucket{{le="{bound}"}} {total}')
        out += [f"shipmate_http_request_seconds_sum {self.seconds:.6f}"]
        out += [f"shipmate_http_request_seconds_count {total}"]
        return out


class Meter:
    """Measures every answered request. It stands inside the guard, so strangers are not counted by route."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "other")
                seconds = time.perf_counter() - began
                self._metrics.observe(_method(scope), route, message["status"], seconds)
            await send(message)

        await self._app(scope, receive, sending)


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
