from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.models.rehearsal.intent import Intent, parse_request, unquote

ONE_STAGE: list[tuple[str, list[tuple[str, dict[str, str]]]]] = [
    ("read Agent.md", [("read", {"path": "Agent.md"})]),
    ("can you read Agent.md please?", [("read", {"path": "Agent.md"})]),
    ("read Makefile", [("read", {"path": "Makefile"})]),
    ("read `a b.md`", [("read", {"path": "a b.md"})]),
    ("请读一下 Agent.md 的内容", [("read", {"path": "Agent.md"})]),
    ("读和平.md", [("read", {"path": "和平.md"})]),
    ("read a.md and b.md", [("read", {"path": "a.md"}), ("read", {"path": "b.md"})]),
    ("读 a.md和b.md", [("read", {"path": "a.md"}), ("read", {"path": "b.md"})]),
    (
        "read a.md, b.md and run ls -l",
        [("read", {"path": "a.md"}), ("read", {"path": "b.md"}), ("exec", {"command": "ls -l"})],
    ),
    ("read a.md\n\nrun ls", [("read", {"path": "a.md"}), ("exec", {"command": "ls"})]),
    ("list files", [("glob", {})]),
    ("列出文件", [("glob", {})]),
    ("find *.md", [("glob", {"pattern": "*.md"})]),
    ("查找 *.md", [("glob", {"pattern": "*.md"})]),
    ("glob **/*.py in src", [("glob", {"pattern": "**/*.py", "path": "src"})]),
    ("search hello in .", [("grep", {"pattern": "hello", "path": "."})]),
    ("grep two words", [("grep", {"pattern": "two words"})]),
    ("在 docs 中搜索 你好", [("grep", {"path": "docs", "pattern": "你好"})]),
    ("run ls | wc -l and read x", [("exec", {"command": "ls | wc -l and read x"})]),
    ("run if true; then echo hi; fi", [("exec", {"command": "if true; then echo hi; fi"})]),
    ("$ ls -la", [("exec", {"command": "ls -la"})]),
    ("运行 ls -la", [("exec", {"command": "ls -la"})]),
    ("执行 echo 你好", [("exec", {"command": "echo 你好"})]),
    ("run sleep 9 in the background", [("exec", {"command": "sleep 9", "background": "in the background"})]),
    ("后台运行 sleep 9", [("exec", {"command": "sleep 9", "background": "运行"})]),
    ("jobs", [("jobs", {})]),
    ("write hello to notes.txt", [("write", {"content": "hello", "path": "notes.txt"})]),
    (
        "write hello and read me to notes.txt",
        [("write", {"content": "hello and read me", "path": "notes.txt"})],
    ),
    (
        "write a to a.txt and write b to b.txt",
        [("write", {"content": "a", "path": "a.txt"}), ("write", {"content": "b", "path": "b.txt"})],
    ),
    ('create notes.txt with "a  b"', [("write", {"path": "notes.txt", "content": "a  b"})]),
    ("把你好写入notes.txt。", [("write", {"content": "你好", "path": "notes.txt"})]),
    ("edit a.txt: replace X with Y", [("edit", {"path": "a.txt", "old": "X", "new": "Y"})]),
    ("replace X with Y in a.txt", [("edit", {"path": "a.txt", "old": "X", "new": "Y"})]),
    ("把 a.txt 中的 X 改成 Y", [("edit", {"path": "a.txt", "old": "X", "new": "Y"})]),
    ("fetch https://example.org", [("web_fetch", {"url": "https://example.org"})]),
    ("读 https://example.org/a.md", [("web_fetch", {"url": "https://example.org/a.md"})]),
    (
        "remember that tea is at four and read books",
        [("memory_upsert", {"content": "tea is at four and read books"})],
    ),
    ("记住我喜欢茶", [("memory_upsert", {"content": "我喜欢茶"})]),
    ("recall tea", [("recall", {"query": "tea"})]),
    ("show image x.png", [("show_image", {"path": "x.png"})]),
    ("显示图片 x.png", [("show_image", {"path": "x.png"})]),
    ("send file x.txt", [("send_file", {"path": "x.txt"})]),
    ("发送文件 x.txt", [("send_file", {"path": "x.txt"})]),
    ('call glob {"pattern": "*"}', [("call", {"tool": "glob", "arguments": '{"pattern": "*"}'})]),
    ("count to 50 slowly", [("count", {"number": "50", "slowly": "slowly"})]),
    ("慢慢数到 20", [("count", {"number": "20", "slowly": "慢慢"})]),
    ("think", [("think", {})]),
    ("help", [("help", {})]),
    ("帮助", [("help", {})]),
    ("tools?", [("tools", {})]),
    ("你好！", [("hello", {})]),
    ("fail", [("fail", {})]),
]


@pytest.mark.parametrize(("text", "expected"), ONE_STAGE, ids=[text for text, _ in ONE_STAGE])
def test_plain_requests_are_understood(text: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    assert parse_request(text) == [[Intent(kind, slots) for kind, slots in expected]]


@pytest.mark.parametrize("text", ["read a.md, then write done to b.txt", "读 a.md，然后把 done 写入 b.txt"])
def test_then_makes_a_second_stage(text: str) -> None:
    assert parse_request(text) == [
        [Intent("read", {"path": "a.md"})],
        [Intent("write", {"content": "done", "path": "b.txt"})],
    ]


@pytest.mark.parametrize("text", ["", "what is love?", "read me a story", "我想喝茶", "在吗", "tell me more"])
def test_other_words_are_no_request(text: str) -> None:
    assert parse_request(text) == []


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text: str) -> None:
    assert all(stage for stage in parse_request(text))


def test_quotation_marks_are_taken_off_in_pairs() -> None:
    assert [unquote(text) for text in ('"a"', "“a”", "`a`", '"a', "a")] == ["a", "a", "a", '"a', "a"]
