"""Find calls that a model wrote as text, as small models on servers of one's own often do.

Only a text that is nothing but calls of tools that were offered counts. One word beside them, one unknown
name, or one bracket too few, and it is text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

# A longer text is none.
LONGEST = 200_000
NAMES = ("name", "tool", "function", "tool_name", "function_name", "action")
ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "tool_input", "action_input")
WRAPPERS = ("tool_calls", "tool_call", "function_call", "function_calls")
# What may stand beside a name and its arguments.
BESIDE = frozenset(("id", "type", "index", "call_id", "tool_call_id"))
# What ends an answer of one model or another, and reaches the text when its server does not know it.
ENDS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|call)\|>|</s>))+\s*\Z"
)
GAP = re.compile(r"[\s;,]*")
FENCE = re.compile(r"```[ \t]*([\w+-]*)[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
# <tool_call>…</tool_call> and its kin; the last one may lack its end.
TAG = re.compile(
    r"<(\|?)(tool_calls?|tools?|function_calls?|toolcall|tool_use)\|?>(.*?)"
    r"(?:</\2>|<\|/\2\|>|<\|end_\2\|>|<\|\2_end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
FUNCTION = re.compile(
    r"<(?:function\s*=\s*\"?|invoke\s+name=\")([\w.:-]+)\"?\s*>(.*?)(?:</function>|</invoke>|\Z)", re.DOTALL
)
PARAMETER = re.compile(
    r"\s*<parameter(?:\s*=\s*\"?|\s+name=\")([\w.:-]+)\"?\s*>(.*?)</parameter>\s*", re.DOTALL
)
# GLM: the name, then keys and values in tags.
KEYED = re.compile(r"([\w.:-]+)\s*((?:<arg_key>.*?</arg_key>\s*<arg_value>.*?</arg_value>\s*)+)", re.DOTALL)
KEY_VALUE = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
PYTHON_TAG = re.compile(r"<\|python_tag\|>")
MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(?:([\w.:-]+)\s*(?:\[CALL_ID\][\w-]*\s*)?(?:\[ARGS\]\s*)?(?=\{))?")
DEEPSEEK = re.compile(
    r"(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>([\w.:-]+)\s*```json\s*(.*?)\s*```"
    r"|([\w.:-]+)<｜tool▁sep｜>(.*?))\s*<｜tool▁call▁end｜>(?:\s*<｜tool▁calls▁end｜>)?",
    re.DOTALL,
)
KIMI = re.compile(
    r"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+)(?::\d+)?\s*"
    r"<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>(?:\s*<\|tool_calls_section_end\|>)?",
    re.DOTALL,
)
HARMONY = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>commentary to=(?:functions\.)?([\w.-]+)\s*"
    r"(?:<\|constrain\|>\s*json\s*)?<\|message\|>(.*?)(?:<\|call\|>|\Z)",
    re.DOTALL,
)
NAME_SHAPE = re.compile(r"[\w.:-]+")


class WrittenCall(NamedTuple):
    """A call that stands in a text; values in tags are text until the tool's schema says otherwise."""

    name: str
    arguments: Any
    is_text: bool = False


Schemas: TypeAlias = Mapping[str, JsonObject]
# What a text begins with, and where that ends.
Piece: TypeAlias = tuple[list[Any], int]


class _NoCallError(Exception):
    """The text holds something that is no call."""


def find_calls(text: str, tools: Schemas) -> list[WrittenCall]:
    """Return the calls that a text consists of, none when it is anything else."""
    text = ENDS.sub("", text.strip())
    if not text or len(text) > LONGEST:
        return []
    try:
        return [_settle(value, tools) for value in _read_all(check_nesting(text).decode())]
    except (_NoCallError, msgspec.ValidationError, UnicodeError, ValueError, RecursionError, MemoryError):
        return []


def _read_all(text: str) -> Iterator[Any]:
    place = GAP.match(text).end()  # pyright: ignore[reportOptionalMemberAccess]
    if place == len(text):
        raise _NoCallError
    while place < len(text):
        values, end = _read_one(text, place)
        for value in values:
            yield from _unwrap(value)
        place = GAP.match(text, end).end()  # pyright: ignore[reportOptionalMemberAccess]


def _read_one(text: str, place: int) -> Piece:
    for read in READERS:
        found = read(text, place)
        if found is not None:
            return found
    raise _NoCallError


def _read_json(text: str, place: int) -> Piece | None:
    if text[place] not in "{[":
        return None
    try:
        # Small models write line breaks into their strings as they are.
        value, end = json.JSONDecoder(strict=False).raw_decode(text, place)
    except json.JSONDecodeError:
        return None
    return [value], end


def _read_python(text: str, place: int) -> Piece | None:
    """Read an object or calls in the way of Python: {'name': …}, [read(path="a")]; to the end of the text."""
    if text[place] not in "{[":
        return None
    return _parse_python(text[place:]), len(text)


def _parse_python(text: str) -> list[Any]:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Call):
            return [_read_python_call(tree)]
        if isinstance(tree, ast.List) and tree.elts and all(isinstance(each, ast.Call) for each in tree.elts):
            return [_read_python_call(each) for each in tree.elts]
        return [ast.literal_eval(tree)]
    except (SyntaxError, TypeError, ValueError):
        raise _NoCallError from None


def _read_python_call(node: ast.expr) -> WrittenCall:
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name):
        raise _NoCallError
    return WrittenCall(
        node.func.id, {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
    )


def _read_fence(text: str, place: int) -> Piece | None:
    if (match := FENCE.match(text, place)) is None:
        return None
    if match[1] == "tool_code":
        return _parse_python(match[2]), match.end()
    if match[1] not in ("", "json", "tool_call", "tool_calls", "tool", "xml", "plaintext", "text"):
        raise _NoCallError
    return list(_read_all(match[2])), match.end()


def _read_tag(text: str, place: int) -> Piece | None:
    match = TAG.match(text, place)
    return None if match is None else (list(_read_all(match[3])), match.end())


def _read_function(text: str, place: int) -> Piece | None:
    if (match := FUNCTION.match(text, place)) is None:
        return None
    inner = match[2].strip()
    if inner.startswith("{"):
        return [WrittenCall(match[1], inner)], match.end()
    found: JsonObject = {}
    end = 0
    for each in PARAMETER.finditer(inner):
        if each.start() != end:
            raise _NoCallError
        found[each[1]] = _trim(each[2])
        end = each.end()
    if end != len(inner):
        raise _NoCallError
    return [WrittenCall(match[1], found, is_text=True)], match.end()


def _read_keyed(text: str, place: int) -> Piece | None:
    if (match := KEYED.match(text, place)) is None:
        return None
    found = {each[1].strip(): _trim(each[2]) for each in KEY_VALUE.finditer(match[2])}
    return [WrittenCall(match[1], found, is_text=True)], match.end()


def _read_python_tag(text: str, place: int) -> Piece | None:
    match = PYTHON_TAG.match(text, place)
    return None if match is None else (list(_read_all(text[match.end() :])), len(text))


def _read_mistral(text: str, place: int) -> Piece | None:
    if (match := MISTRAL.match(text, place)) is None or match.end() == len(text):
        return None
    found = _read_json(text, match.end())
    if found is None:
        raise _NoCallError
    values, end = found
    return ([WrittenCall(match[1], values[0])] if match[1] else values), end


def _read_named(pattern: re.Pattern[str]) -> Callable[[str, int], Piece | None]:
    def read(text: str, place: int) -> Piece | None:
        if (match := pattern.match(text, place)) is None:
            return None
        name, arguments = (group for group in match.groups() if group is not None)
        return [WrittenCall(name, arguments.strip())], match.end()

    return read


READERS: tuple[Callable[[str, int], Piece | None], ...] = (
    _read_mistral,
    _read_json,
    _read_python,
    _read_fence,
    _read_named(DEEPSEEK),
    _read_named(KIMI),
    _read_named(HARMONY),
    _read_tag,
    _read_function,
    _read_python_tag,
    _read_keyed,
)


def _unwrap(value: Any) -> Iterator[Any]:
    """Go into lists, and into objects that only hold calls."""
    if isinstance(value, list):
        for each in value:
            yield from _unwrap(each)
    elif isinstance(value, dict) and len(value) == 1 and next(iter(value)) in WRAPPERS:
        yield from _unwrap(next(iter(value.values())))
    else:
        yield value


def _settle(value: Any, tools: Schemas) -> WrittenCall:
    call = value if isinstance(value, WrittenCall) else _read_object(value)
    name = call.name if call.name in tools else call.name.removeprefix("functions.")
    if name not in tools:
        raise _NoCallError
    arguments = call.arguments
    if isinstance(arguments, str):
        arguments = json.loads(arguments, strict=False) if arguments.strip() else {}
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise _NoCallError
    if call.is_text:
        arguments = {key: _convert(text, tools[name], key) for key, text in arguments.items()}
    return WrittenCall(name, arguments)


def _read_object(value: Any) -> WrittenCall:
    if not isinstance(value, dict):
        raise _NoCallError
    if isinstance(inner := value.get("function"), dict) and not set(value) - BESIDE - {"function"}:
        value = inner
    names = [key for key in NAMES if isinstance(value.get(key), str)]
    arguments = [key for key in ARGUMENTS if key in value]
    if len(names) != 1 or len(arguments) != 1 or set(value) - BESIDE - {names[0], arguments[0]}:
        raise _NoCallError
    return WrittenCall(value[names[0]], value[arguments[0]])


def _convert(text: str, schema: JsonObject, key: str) -> Any:
    """Read a value that was written in a tag as what the tool takes."""
    properties = schema.get("properties")
    wanted = properties.get(key) if isinstance(properties, dict) else None
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind in (None, "string"):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _trim(text: str) -> str:
    return text.removeprefix("\n").removesuffix("\n")
