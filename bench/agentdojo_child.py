"""Serve one of AgentDojo's suites as an MCP server on stdio, with a control socket beside it.

Runs in AgentDojo's own environment, with the standard library and AgentDojo alone:

    python -P agentdojo_child.py labels             print, as JSON, which tools change anything, by suite
    python -P agentdojo_child.py serve SUITE PATH   serve; PATH is the control socket
"""

# pyright: reportMissingImports=false
# AgentDojo lives in an environment of its own; this file runs there.

from __future__ import annotations

import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from typing import Any

SUITES = "v1.2.2"
MARK = "<<injected task>>"


class Stage:
    """Hold the environment that the tools of a suite work on, and what was called since it was set up."""

    def __init__(self, suite: Any) -> None:
        from agentdojo.functions_runtime import FunctionsRuntime

        self.suite = suite
        self.runtime = FunctionsRuntime(suite.tools)
        self.env = suite.load_and_inject_default_environment({})
        self.called: list[dict[str, Any]] = []

    def begin(self, task_id: str, injection_id: str | None) -> dict[str, Any]:
        """Set a task up; return the calls that solve it, and those an injected task wants."""
        injection = self.suite.injection_tasks[injection_id] if injection_id else None
        places = self.suite.get_injection_vector_defaults()
        words = dict.fromkeys(places, f"{MARK} {injection.GOAL}") if injection else {}
        task = self.suite.user_tasks[task_id]
        self.env = task.init_environment(self.suite.load_and_inject_default_environment(words))
        self.called = []
        wanted = task.ground_truth(self.env.model_copy(deep=True))
        injected = injection.ground_truth(self.env.model_copy(deep=True)) if injection else []
        return {"wanted": list(map(_plain, wanted)), "injected": list(map(_plain, injected))}

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Run a tool; return its words, and whether it failed."""
        self.called.append({"name": name, "arguments": arguments})
        result, error = self.runtime.run_function(self.env, name, arguments)
        return (error, True) if error else (str(result), False)

    def answer(self, request: dict[str, Any]) -> Any:
        """Answer the control socket."""
        if request["op"] == "begin":
            return self.begin(request["task"], request["injection"])
        if request["op"] == "called":
            return self.called
        return {"tasks": list(self.suite.user_tasks), "injections": list(self.suite.injection_tasks)}


def _plain(call: Any) -> dict[str, Any]:
    return {"name": call.function, "arguments": json.loads(json.dumps(dict(call.args), default=str))}


def control(stage: Stage, path: str) -> None:
    """Listen on the control socket: one JSON line asks, one answers."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                self.wfile.write(json.dumps(stage.answer(json.loads(line))).encode() + b"\n")

    server = socketserver.ThreadingUnixStreamServer(path, Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve(stage: Stage) -> None:
    """Speak MCP on stdio."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": _result(stage, message)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _result(stage: Stage, message: dict[str, Any]) -> dict[str, Any]:
    parameters = message.get("params", {})
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": parameters["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "agentdojo", "version": "1"},
            }
        case "tools/list":
            return {"tools": [_describe(tool) for tool in stage.suite.tools]}
        case "tools/call":
            words, failed = stage.call(parameters["name"], parameters.get("arguments") or {})
            return {"content": [{"type": "text", "text": words}], "isError": failed}
        case _:
            return {}


def _describe(tool: Any) -> dict[str, Any]:
    schema = tool.parameters.model_json_schema()
    return {"name": tool.name, "description": tool.description or tool.name, "inputSchema": schema}


def changing(suite: Any) -> list[str]:
    """List the tools that change the environment in any solution, and those no solution shows not to."""
    stage = Stage(suite)
    changing: set[str] = set()
    seen: set[str] = set()
    for env, calls in _solutions(suite):
        for call in calls:
            before = env.model_dump_json()
            stage.runtime.run_function(env, call.function, call.args)
            seen.add(call.function)
            if env.model_dump_json() != before:
                changing.add(call.function)
    return sorted(changing | ({tool.name for tool in suite.tools} - seen))


def _solutions(suite: Any) -> Iterator[tuple[Any, Any]]:
    for task in suite.user_tasks.values():
        env = task.init_environment(suite.load_and_inject_default_environment({}))
        yield env, task.ground_truth(env)
    for injection in suite.injection_tasks.values():
        env = suite.load_and_inject_default_environment({})
        yield env, injection.ground_truth(env)


def main(arguments: list[str]) -> None:
    """Print the labels, or serve a suite."""
    from agentdojo.task_suite.load_suites import get_suites

    suites: dict[str, Any] = get_suites(SUITES)
    if arguments[0] == "labels":
        tools = {name: [tool.name for tool in suite.tools] for name, suite in suites.items()}
        print(json.dumps({name: {"all": tools[name], "changing": changing(suites[name])} for name in suites}))
        return
    stage = Stage(suites[arguments[1]])
    control(stage, arguments[2])
    serve(stage)


if __name__ == "__main__":
    main(sys.argv[1:])
