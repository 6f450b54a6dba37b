"""Judge calls by labels, rules, mode, grants and taint; let none of the evasive commands run unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shipmate.approvals.policy.policy import Policy, findings
from shipmate.approvals.policy.rule import parse_rule
from shipmate.approvals.value import Grant, Verdict
from shipmate.tools.exec.exec import Exec
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.shell import read_command
from shipmate.workspace.config import Permissions
from shipmate.workspace.layout import Layout
from tests.support.approval import make_call, make_grant

EVASIVE = Path(__file__).with_name("evasive.txt")
RULES = (
    *(
        "exec(git status)",
        "exec(git *)",
        "exec(ls *)",
        "exec(cat *)",
        "exec(find *)",
        "exec(grep *)",
        "exec(rg *)",
    ),
    *(
        "exec(head *)",
        "exec(tail *)",
        "exec(wc *)",
        "exec(sort *)",
        "exec(echo *)",
        "exec(printf *)",
        "exec(cp *)",
    ),
    *(
        "exec(mv *)",
        "exec(rm *)",
        "exec(ln *)",
        "exec(touch *)",
        "exec(mkdir *)",
        "exec(chmod *)",
        "exec(sed *)",
    ),
    *(
        "exec(awk *)",
        "exec(tar *)",
        "exec(python3 *)",
        "exec(node *)",
        "exec(make *)",
        "exec(npm *)",
        "exec(curl *)",
    ),
    *(
        "exec(pytest *)",
        "exec(jq *)",
        "exec(fd *)",
        "exec(date *)",
        "exec(diff *)",
        "exec(tree *)",
        "exec(ssh *)",
    ),
    *(
        "exec(env *)",
        "exec(bash *)",
        "exec(sh *)",
        "exec(sudo *)",
        "exec(xargs *)",
        "exec(timeout *)",
        "exec(less *)",
    ),
    *(
        "exec(file *)",
        "exec(xxd *)",
        "exec(uniq *)",
        "exec(test *)",
        "exec(docker *)",
        "exec(vim *)",
        "exec(tee *)",
    ),
)


def judge(
    root: Path,
    tool: str,
    arguments: dict[str, Any],
    *,
    tainted: bool = False,
    grants: tuple[Grant, ...] = (),
    sandbox: bool = True,
    **permissions: Any,
) -> Verdict:
    policy = Policy(Permissions(**permissions), sandbox_works=lambda: sandbox)
    return policy.judge(make_call(root, tool, arguments, tainted=tainted), grants)


def run(root: Path, command: str, **more: Any) -> Verdict:
    return judge(root, "exec", {"command": command}, **more)


def evasive_commands() -> list[str]:
    lines = EVASIVE.read_text(encoding="utf-8").splitlines()
    return [
        line.encode().decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace")
        if line.isascii()
        else line
        for line in lines
        if line and not line.startswith("# ")
    ]


@pytest.mark.parametrize("command", evasive_commands())
def test_evasive_commands_always_ask(tmp_path: Path, command: str) -> None:
    assert run(tmp_path, command, allow=RULES).action == "ask"


@pytest.mark.parametrize("command", evasive_commands())
def test_evasive_commands_ask_under_a_rule_for_the_whole_tool(tmp_path: Path, command: str) -> None:
    assert run(tmp_path, command, allow=("exec",)).action == "ask"


def test_the_corpus_is_large() -> None:
    commands = evasive_commands()
    assert len(set(commands)) == len(commands) > 400


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git status", "exec(git status)"),
        ("  git   status ", "exec(git status)"),
        ("git status", "exec(git *)"),
        ("git log --oneline -5", "exec(git *)"),
        ("git diff --stat HEAD", "exec(git diff *)"),
        ("git show 'HEAD'", "exec(git *)"),
        ("git commit -m 'say \"hi\"'", "exec(git commit *)"),
        ("ls", "exec(ls *)"),
        ("ls -la docs", "exec(ls *)"),
        ("cat docs/plan.md", "exec(cat *)"),
        ("cat '计划.md'", "exec(cat *)"),
        ("find . -name x -type f", "exec(find *)"),
        ("grep -rn word docs", "exec(grep *)"),
        ("python3 build.py", "exec(python3 build.py)"),
        ("make test", "exec(make test)"),
        ("npm test", "exec(npm test)"),
        ("pytest -q tests", "exec(pytest -q tests)"),
        ("python3 -c 'print([1])'", "exec(python3 -c 'print([1])')"),
        ("git show HEAD~1", "exec(git show *)"),
        ("sed -n 1,20p docs/plan.md", "exec(sed *)"),
        ("pwd", "exec"),
        ("mkdir .ship/scratch/out", "exec(*)"),
    ],
)
def test_plain_commands_pass_where_a_rule_covers_them(tmp_path: Path, command: str, rule: str) -> None:
    assert run(tmp_path, command, allow=(rule,)).action == "allow"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git status -s", "exec(git status)"),
        ("git statusx", "exec(git status)"),
        ("gitstatus", "exec(git *)"),
        ("git push", "exec(git status)"),
        ("mygit status", "exec(git *)"),
        ("python3 other.py", "exec(python3 *)"),
        ("pytest -q tests", "exec(pytest *)"),
        ("git commit -m x", "exec"),
    ],
)
def test_rules_match_whole_words(tmp_path: Path, command: str, rule: str) -> None:
    assert run(tmp_path, command, allow=(rule,)).action == "ask"


@given(st.text(alphabet="git status;|&$`'\"\\(){}<>*?~#!\n\t -a=x/.", max_size=30))
def test_whatever_is_covered_splits_into_exactly_the_words_of_the_rule(command: str) -> None:
    reading = read_command(command)
    if parse_rule("exec(git status)").words == reading.words:
        # Quotes and spaces are the only freedom an exact rule leaves.
        assert command.replace("'", "").replace('"', "").split() == ["git", "status"]


def test_deny_wins_over_everything(tmp_path: Path) -> None:
    grant = make_grant("exec", "rm x")
    for mode in ("ask", "auto-edit", "yolo"):
        verdict = run(tmp_path, "rm x", mode=mode, allow=("exec",), deny=("exec(rm *)",), grants=(grant,))
        assert verdict.action == "deny"
        assert "rm *" in verdict.why.what


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "cd docs && rm x",
        "sudo rm x",
        "sudo -u bob rm x",
        "/bin/rm x",
        "echo $(rm x)",
        "find . -exec rm {} +",
        "xargs rm",
        "bash -c 'cd docs; rm x'",
        "env A=1 rm x",
        "A=1 rm x",
        "'rm' x",
        "r\\m x",
        "true; rm x",
        "(rm x)",
        "timeout 5 rm x",
    ],
)
def test_a_denied_program_is_found_inside_other_commands(tmp_path: Path, command: str) -> None:
    assert run(tmp_path, command, deny=("exec(rm *)",)).action == "deny"
    assert run(tmp_path, command, mode="yolo", deny=("exec(rm *)",)).action == "deny"


def test_yolo_runs_everything_but_asks_where_a_deny_rule_cannot_look(tmp_path: Path) -> None:
    assert run(tmp_path, "cd x && make | tee log", mode="yolo").action == "allow"
    assert run(tmp_path, "ls -la", mode="yolo", deny=("exec(rm *)",)).action == "allow"
    assert run(tmp_path, "ls && pwd", mode="yolo", deny=("exec(rm *)",)).action == "ask"
    assert run(tmp_path, "ls && pwd", mode="yolo", deny=("read(secrets/**)",)).action == "ask"
    assert run(tmp_path, "$X -rf y", mode="yolo", deny=("exec(rm *)",)).action == "ask"
    assert run(tmp_path, "python3 x.py", mode="yolo", deny=("exec(rm *)",)).action == "ask"
    assert run(tmp_path, "git push", mode="yolo", ask=("exec(git push)",)).action == "ask"


@pytest.mark.parametrize(
    "rule", ["exec(", "exec()", "exec(a | b)", "exec(git * x)", "write(../x)", "", "memory_upsert(x)"]
)
def test_a_broken_rule_denies_whatever_acts_and_names_itself(tmp_path: Path, rule: str) -> None:
    for place in ("allow", "ask", "deny"):
        verdict = run(tmp_path, "git status", **{place: (rule,)}, mode="yolo")
        assert (verdict.action, verdict.why.key) == ("deny", "broken")
        assert rule in verdict.why.what
    assert judge(tmp_path, "read", {"path": "x"}, allow=(rule,)).action == "allow"


def test_modes(tmp_path: Path) -> None:
    write = ("write", {"path": "docs/a.md", "content": "x"})
    assert judge(tmp_path, *write).action == "ask"
    assert judge(tmp_path, *write, mode="auto-edit").action == "allow"
    assert judge(tmp_path, *write, mode="auto-edit", tainted=True).action == "ask"
    assert judge(tmp_path, *write, mode="read-only", allow=("write",)).action == "deny"
    assert judge(tmp_path, *write, mode="yolo", tainted=True).action == "allow"
    assert run(tmp_path, "git status", mode="auto-edit").action == "ask"
    assert judge(tmp_path, "memory_upsert", {"text": "x"}).action == "ask"
    assert judge(tmp_path, "read", {"path": "docs/a.md"}, mode="read-only").action == "allow"


def test_paths_are_matched_where_they_really_lie(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "out").symlink_to("/tmp")
    (tmp_path / "docs" / "link").symlink_to(tmp_path / "src")

    def write(path: str) -> str:
        return judge(tmp_path, "write", {"path": path, "content": "x"}, allow=("write(docs/**)",)).action

    assert write("docs/a.md") == write("./docs/./b/../a.md") == write(str(tmp_path / "docs/a.md")) == "allow"
    for path in (
        "src/a.md",
        "docs/../src/a.md",
        "docs/link/a.md",
        "out/a.md",
        "../a.md",
        "/etc/passwd",
        "docs/../../a.md",
        "~/a",
    ):
        assert write(path) == "ask"
    assert (
        judge(
            tmp_path, "edit", {"path": "docs/a.md", "old": "a", "new": "b"}, allow=("write(docs/**)",)
        ).action
        == "allow"
    )


def test_writes_outside_the_workspace_ask_in_every_mode_but_yolo(tmp_path: Path) -> None:
    for mode in ("ask", "auto-edit"):
        verdict = judge(tmp_path, "write", {"path": "../a", "content": ""}, mode=mode, allow=("write",))
        assert (verdict.action, verdict.why.key) == ("ask", "outside")


@pytest.mark.parametrize("tool", ["write", "send_file"])
def test_what_acts_outside_the_workspace_asks_whatever_was_granted(tmp_path: Path, tool: str) -> None:
    call = (tool, {"path": "../a"})
    very = make_grant(tool, None, digest=make_call(tmp_path, *call).call_digest)
    verdict = judge(tmp_path, *call, allow=("*", tool), grants=(very, make_grant(tool, "../a")))
    assert (verdict.action, verdict.why.key) == ("ask", "outside")


def test_reading_outside_the_workspace_asks_and_no_rule_or_grant_covers_it(tmp_path: Path) -> None:
    grant = make_grant("read", "../a")
    for tool in ("read", "grep", "glob", "show_image"):
        verdict = judge(tmp_path, tool, {"path": "../a"}, allow=("*", tool), grants=(grant,))
        assert (verdict.action, verdict.why.key) == ("ask", "outside")


def test_c11_a_tainted_read_that_is_asked_about_is_granted_only_as_that_very_call(tmp_path: Path) -> None:
    call = ("read", {"path": "docs/a.md"})
    by_path = make_grant("read", "docs/a.md")
    very = make_grant("read", "docs/a.md", digest=make_call(tmp_path, *call).call_digest)
    for tainted, grant, action in (
        (False, by_path, "allow"),
        (True, by_path, "ask"),
        (True, very, "allow"),
    ):
        verdict = judge(tmp_path, *call, ask=("read(docs/**)",), grants=(grant,), tainted=tainted)
        assert verdict.action == action


@pytest.mark.parametrize(
    "path", [".env", "sub/.env.local", ".ship/token", ".ship/approvals/a.json", "ship.json", "docs/../.ENV"]
)
def test_secrets_and_state_are_out_of_reach_in_every_mode(tmp_path: Path, path: str) -> None:
    for mode in ("ask", "auto-edit", "yolo"):
        assert judge(tmp_path, "read", {"path": path}, mode=mode).action == "deny"
        assert (
            judge(tmp_path, "write", {"path": path, "content": ""}, mode=mode, allow=("write",)).action
            == "deny"
        )


def test_a_path_kept_from_read_is_kept_from_the_other_readers(tmp_path: Path) -> None:
    deny = ("read(secrets/**)",)
    for tool in ("read", "grep", "show_image", "send_file"):
        assert judge(tmp_path, tool, {"path": "secrets/a"}, deny=deny).action == "deny"
        assert judge(tmp_path, tool, {"path": "SECRETS/a"}, deny=deny).action == "deny"
    assert judge(tmp_path, "grep", {"path": "."}, deny=deny).action == "deny"
    assert judge(tmp_path, "grep", {"path": "docs"}, deny=deny).action == "allow"
    allow = ("exec(cat *)", "exec(grep *)", "exec(ls *)")
    for command in ("grep -r x", "grep -r x .", "grep x -f=secrets/a", "cat --x=secrets/a"):
        assert run(tmp_path, command, deny=deny, allow=allow).action == "ask"
    for command in ("cat secrets/a", "ls secrets", "grep -f secrets/a x", "cat ./docs/../SECRETS/a"):
        assert run(tmp_path, command, deny=deny, allow=allow).action == "deny"


def test_hosts(tmp_path: Path) -> None:
    def fetch(url: str, *allow: str) -> str:
        return judge(tmp_path, "web_fetch", {"url": url}, allow=allow).action

    assert fetch("https://example.com/a") == "ask"
    assert fetch("https://example.com/a", "web_fetch(example.com)") == "allow"
    assert fetch("https://EXAMPLE.com./a", "web_fetch(example.com)") == "allow"
    assert fetch("https://a.example.com", "web_fetch(*.example.com)") == "allow"
    for url in (
        "https://example.com.evil.org",
        "https://evil.org/example.com",
        "https://example.com@evil.org",
        "https://example.com\\@evil.org",
    ):
        assert fetch(url, "web_fetch(example.com)") == "ask"


def test_c11_a_tainted_run_opens_no_address_unasked(tmp_path: Path) -> None:
    call = ("web_fetch", {"url": "https://example.com/a?stolen"})
    for rule in ("web_fetch", "web_fetch(example.com)", "web_fetch(*.com)", "*"):
        verdict = judge(tmp_path, *call, allow=(rule,), tainted=True)
        assert (verdict.action, verdict.why.key) == ("ask", "tainted")
    host = make_grant("web_fetch", "example.com")
    assert judge(tmp_path, *call, grants=(host,), tainted=True).action == "ask"
    digest = make_call(tmp_path, *call).call_digest
    very = make_grant("web_fetch", None, digest=digest)
    assert judge(tmp_path, *call, grants=(very,), tainted=True).action == "allow"
    other = ("web_fetch", {"url": "https://example.com/b?stolen"})
    assert judge(tmp_path, *other, grants=(very,), tainted=True).action == "ask"


def test_denied_hosts(tmp_path: Path) -> None:
    assert (
        judge(tmp_path, "web_fetch", {"url": "https://a.bad.org"}, deny=("web_fetch(*.bad.org)",)).action
        == "deny"
    )


def test_c11_taint_is_lifted_only_by_a_grant_of_the_very_call(tmp_path: Path) -> None:
    for command in ("git commit -m x", "python3 build.py", "cp a .ship/scratch/b", "make"):
        call = {"command": command}
        assert run(tmp_path, command, allow=(f"exec({command})", "exec"), tainted=True).why.key == "tainted"
        words = make_grant("exec", command)
        assert run(tmp_path, command, grants=(words,), tainted=True).action == "ask"
        very = make_grant("exec", command, digest=make_call(tmp_path, "exec", call).call_digest)
        assert run(tmp_path, command, grants=(very,), tainted=True).action == "allow"
        later = {"command": command, "network": True}
        assert judge(tmp_path, "exec", later, grants=(very,), tainted=True).action == "ask"
    assert judge(tmp_path, "read", {"path": "a"}, tainted=True).action == "allow"
    assert (
        judge(tmp_path, "write", {"path": ".ship/scratch/a", "content": ""}, tainted=True).action == "allow"
    )
    write = ("write", {"path": "docs/a", "content": ""})
    for rule in ("write", "write(docs/**)", "write(docs/a)"):
        assert judge(tmp_path, *write, allow=(rule,), tainted=True).action == "ask"


def test_taint_leaves_what_a_rule_covers_and_only_looks(tmp_path: Path) -> None:
    for command in ("git status", "grep -rn x docs", "ls -la"):
        assert run(tmp_path, command, allow=("exec",), tainted=True).action == "allow"
        assert run(tmp_path, command, tainted=True).action == "ask"
        call = {"command": command, "network": True}
        assert judge(tmp_path, "exec", call, allow=("exec",), tainted=True).action == "ask"


@pytest.mark.parametrize(("network", "action"), [(False, "allow"), (True, "ask")])
def test_c11_a_tainted_look_asks_where_commands_have_the_network(
    tmp_path: Path, network: bool, action: str
) -> None:
    tool = Exec(Sandbox(Layout(tmp_path)), Jobs(), {}, network)
    raw = {"command": "cat a.txt"}
    call = structs.replace(
        make_call(tmp_path, "exec", raw, tainted=True), tool=tool, arguments=tool.parse(raw)
    )
    policy = Policy(Permissions(allow=("exec(cat *)",)), sandbox_works=lambda: True)
    assert policy.judge(call, ()).action == action


def test_c11_a_file_is_sent_only_when_asked_or_allowed(tmp_path: Path) -> None:
    send = ("send_file", {"path": "docs/a.md"})
    assert judge(tmp_path, *send).action == "ask"
    assert judge(tmp_path, *send, allow=("send_file(docs/**)",)).action == "allow"
    assert judge(tmp_path, *send, allow=("send_file(docs/**)",), tainted=True).action == "ask"
    assert judge(tmp_path, *send, mode="auto-edit").action == "ask"


@pytest.mark.parametrize("command", ["git status", "ls", "make test", "ls | wc -l"])
def test_c14_without_a_sandbox_every_command_asks(tmp_path: Path, command: str) -> None:
    digest = make_call(tmp_path, "exec", {"command": command}).call_digest
    verdict = run(
        tmp_path,
        command,
        allow=("exec", "exec(git status)", "exec(ls)", "exec(make test)"),
        grants=(make_grant("exec", command, digest=digest),),
        sandbox=False,
    )
    assert (verdict.action, verdict.why.key) == ("ask", "no-sandbox")


def test_words_do_not_cover_a_command_that_reaches_the_network(tmp_path: Path) -> None:
    call = {"command": "git fetch", "network": True}
    assert (
        judge(
            tmp_path, "exec", call, allow=("exec(git fetch)",), grants=(make_grant("exec", "git fetch"),)
        ).action
        == "ask"
    )
    digest = make_call(tmp_path, "exec", call).call_digest
    assert judge(tmp_path, "exec", call, grants=(make_grant("exec", None, digest=digest),)).action == "allow"


def test_words_do_not_cover_a_command_that_wants_private_variables(tmp_path: Path) -> None:
    call = {"command": "git status", "variables": ["TOKEN"]}
    verdict = judge(tmp_path, "exec", call, allow=("exec", "exec(git status)"))
    assert (verdict.action, verdict.why.key, verdict.why.what) == ("ask", "variables", "TOKEN")
    digest = make_call(tmp_path, "exec", call).call_digest
    assert judge(tmp_path, "exec", call, grants=(make_grant("exec", None, digest=digest),)).action == "allow"
    assert judge(tmp_path, "exec", call, grants=(make_grant("exec", "git status"),)).action == "ask"


def test_grants_hold_in_their_thread_and_for_their_member(tmp_path: Path) -> None:
    elsewhere = make_grant("exec", "git status", thread_id="web:room:2")
    other = make_grant("exec", "git status", member="bosun", scope="member")
    everywhere = make_grant("exec", "git status", scope="member")
    assert run(tmp_path, "git status", grants=(elsewhere, other)).action == "ask"
    verdict = run(tmp_path, "git status", grants=(elsewhere, everywhere))
    assert (verdict.action, verdict.grant_id) == ("allow", everywhere.id)
    assert run(tmp_path, "git status -s", grants=(everywhere,)).action == "ask"


def test_grants_outrank_ask_rules_and_allow_rules_do_not(tmp_path: Path) -> None:
    ask = ("exec(git push)",)
    assert run(tmp_path, "git push", ask=ask, allow=("exec(git push)",)).action == "ask"
    assert run(tmp_path, "git push", ask=ask, grants=(make_grant("exec", "git push"),)).action == "allow"


def test_a_command_of_a_megabyte_is_refused_with_the_limit(tmp_path: Path) -> None:
    verdict = run(tmp_path, "echo " + "x" * 1_000_000, mode="yolo")
    assert (verdict.action, verdict.why.key, verdict.why.what) == ("deny", "too-long", "32,768")


def test_tools_of_servers_are_named_by_rules(tmp_path: Path) -> None:
    assert judge(tmp_path, "mcp__notes__add", {"text": "x"}).action == "ask"
    assert judge(tmp_path, "mcp__notes__add", {"text": "x"}, allow=("mcp__notes__*",)).action == "allow"
    assert judge(tmp_path, "mcp__notes__add", {"text": "x"}, allow=("mcp__notes__add",)).action == "allow"
    assert (
        judge(tmp_path, "mcp__notes__add", {"text": "x"}, allow=("mcp__notes__add",), tainted=True).action
        == "ask"
    )
    assert judge(tmp_path, "mcp__notes__add", {"text": "x"}, deny=("mcp__*",), mode="yolo").action == "deny"


def test_findings_name_broken_idle_and_loud_settings() -> None:
    broken = findings(Permissions(allow=("exec(", "exec(bash *)", "exec(git push *)"), mode="yolo"))
    assert [finding.level for finding in broken] == ["error", "warn", "warn", "warn"]
    fine = ("exec(git *)", "exec(git diff *)", "exec(git stash list *)", "exec(bash build.sh)", "exec")
    assert [finding.level for finding in findings(Permissions(allow=fine))] == ["ok"]


def test_a_rule_about_a_path_holds_in_whatever_letters_either_is_written(tmp_path: Path) -> None:
    for rule, path in (
        ("read(Plans/**)", "plans/a"),
        ("read(plans/**)", "PLANS/a"),
        ("read(PLANS/**)", "Plans/a"),
    ):
        assert judge(tmp_path, "read", {"path": path}, deny=(rule,)).action == "deny"


def test_a_host_below_another_is_told_from_one_that_ends_alike(tmp_path: Path) -> None:
    for url in ("https://notexample.com", "https://example.com", "https://a.example.com.evil.org"):
        assert judge(tmp_path, "web_fetch", {"url": url}, allow=("web_fetch(*.example.com)",)).action == "ask"


def test_an_address_in_doubt_falls_under_every_deny(tmp_path: Path) -> None:
    for url in ("https://a.org\\@bad.org", "https://a.org@bad.org", "https://bad.org\t/x"):
        verdict = judge(tmp_path, "web_fetch", {"url": url}, deny=("web_fetch(bad.org)",), mode="yolo")
        assert verdict.action == "deny"


def test_what_a_call_asks_for_is_read_as_the_tool_reads_it(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "exec", {"command": "ls", "network": "true"}, allow=("exec(ls)",))
    assert (verdict.action, verdict.why.key) == ("ask", "network")


def test_options_before_a_verb_neither_hide_a_denied_command_nor_lift_a_rule_that_names_them(
    tmp_path: Path,
) -> None:
    allow = ("exec(git *)",)
    assert run(tmp_path, "git log", allow=allow).action == "allow"
    assert run(tmp_path, "git --no-pager log", allow=allow, deny=("exec(git log)",)).action == "deny"
    assert run(tmp_path, "git log", allow=allow, deny=("exec(git --no-pager log)",)).action == "ask"


def test_a_search_above_what_a_pattern_may_name_is_denied(tmp_path: Path) -> None:
    for rule in ("read(*/private/**)", "read(docs/*/private.md)", "read(docs/private/**)"):
        assert judge(tmp_path, "grep", {"path": "docs"}, deny=(rule,)).action == "deny"
    assert judge(tmp_path, "grep", {"path": "src"}, deny=("read(docs/private/**)",)).action == "allow"


@pytest.mark.parametrize(
    ("rule", "tool", "path"),
    [
        ("read_file(secrets/**)", "read", "secrets/a"),
        ("read_file(secrets/**)", "send_file", "secrets/a"),
        ("write_file(docs/**)", "edit", "docs/a"),
        ("edit_file", "edit", "docs/a"),
        ("list_dir(secrets/**)", "glob", "secrets/a"),
        ("write_*", "write", "docs/a"),
    ],
)
def test_m5_rules_may_name_tools_as_others_do(tmp_path: Path, rule: str, tool: str, path: str) -> None:
    call = make_call(tmp_path, tool, {"path": path, "content": "x"})
    policy = Policy(Permissions(deny=(rule,)), sandbox_works=lambda: True)
    assert (policy.judge(call, ()).action, policy.broken) == ("deny", [])


def test_m5_an_allow_by_another_name_covers_the_tool(tmp_path: Path) -> None:
    call = make_call(tmp_path, "write", {"path": "docs/a", "content": "x"})
    policy = Policy(Permissions(allow=("write_file(docs/**)",)), sandbox_works=lambda: True)
    assert policy.judge(call, ()).action == "allow"
    other = make_call(tmp_path, "write", {"path": "src/a", "content": "x"})
    assert policy.judge(other, ()).action == "ask"
