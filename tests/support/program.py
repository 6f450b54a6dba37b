"""Write command lines by the grammar of programs, and see by tracing them what they really do."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import msgspec

from shipmate.tools.exec.program.grammar import Grammar, Kind, Option, Slot

WORDS: dict[Kind, tuple[str, ...]] = {
    "text": (
        "a",
        "x y",
        "%s",
        "1",
        ",",
        "*.md",
        "$(touch pwned)",
        "`touch pwned`",
        ";touch pwned",
        "yesterday",
    ),
    "choice": ("auto", "always", "never", "name", "f", "d", "1", "all", "recurse", "short"),
    "number": ("1", "2", "+1", "10"),
    "format": ("+%F", "+%s %%"),
    "pretty": ("%h %s", "oneline", "%(refname)", "%an%n"),
    "range": ("1,2p", "1p", "$p"),
    "filter": (".", ".a", "env", "keys"),
    "ref": ("HEAD", "HEAD~1", "main", "HEAD:docs/x.md", "docs", "a.txt", "docs/*.md", "HEAD~1..HEAD"),
    "reads": ("a.txt", "b.txt", "docs", "docs/x.md", "link", "missing", ".", "data.json", "program"),
    "writes": ("new.txt", "docs/new.md", ".ship/scratch/new", "a.txt", "docs", "new/folder", "link"),
    "moves": ("b.txt", "docs/x.md", "link", "missing"),
}
# What an attacker tries where a grammar is read too loosely.
HOSTILE = (
    "-x", "-o", "--output=pwned", "-exec", "-delete", "--", "-", "--exec=touch pwned", "-fprint", "pwned",
    "@args", "-c", "--ext-diff", "--textconv", "--no-index", "-O", "--pre=touch", "-oPwned", "-i", "-fpwned",
    "--files0-from=a.txt", "--compress-program=touch", "--pager=touch", "-D", "--plugin=./e.so", "!", "-w",
    "-s", "-m", "-T",
)  # fmt: skip
OWN_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    # In its room a command finds the repository closed; here git is asked not to refresh its index.
    "diff.autoRefreshIndex": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
TRACED = (
    "execve,execveat,open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,"
    "linkat,symlink,symlinkat,truncate,chmod,fchmodat,chown,lchown,fchownat,utimensat,mknod,mknodat,socket,chdir,fchdir"
)
STRACE = ("strace", "-ff", "-y", "-qq", "-s", "4096", "-e", f"trace={TRACED}", "-e", "signal=none")
CALL = re.compile(r"(?P<name>\w+)\((?P<given>.*)\)\s+= (?P<result>-?\d+|\?)(?P<opened><.*?>)?")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
STANDS_AT = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>")


class Effect(msgspec.Struct, frozen=True):
    """What a traced command did."""

    programs: tuple[str, ...]
    read: frozenset[str]
    written: frozenset[str]
    reached_out: bool
    said: str


def make_folder(root: Path) -> None:
    """Make a small workspace under git with something of everything."""
    (root / "docs").mkdir(parents=True)
    (root / ".ship" / "scratch").mkdir(parents=True)
    for name, text in {
        "a.txt": "one\ntwo\ntwo\n", "b.txt": "1\n2\n", "docs/x.md": "# x\n", "data.json": '{"a": 1}\n',
        "Agent.md": "You are Captain.\n", "args": "--help\n",
    }.items():  # fmt: skip
        (root / name).write_text(text)
    (root / "link").symlink_to("a.txt")
    shutil.copy("/bin/true", root / "program")
    for line in ("init -q -b main", "add a.txt docs", "commit -q -m one", "add b.txt", "commit -q -m two"):
        subprocess.run(["git", *line.split()], cwd=root, env=make_environment(root), check=True)
    (root / "a.txt").write_text("one\nthree\n")


def make_environment(home: Path) -> dict[str, str]:
    """Return variables as few and as harmless as a command's room has."""
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home.parent), "TERM": "dumb",
        "PAGER": "cat", "GIT_PAGER": "cat", "GIT_EDITOR": "true", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C",
        "GIT_CONFIG_COUNT": str(len(OWN_SETTINGS)),
        **{f"GIT_{role}_{key}": "x" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")},
    }  # fmt: skip
    for index, (key, value) in enumerate(OWN_SETTINGS.items()):
        environment |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return environment


def write_line(grammar: Grammar, chance: random.Random) -> str:
    """Write a command line as a grammar has it, now and then with something an attacker would add."""
    options = chance.sample(sorted(grammar.options), min(len(grammar.options), chance.randint(0, 3)))
    if grammar.needs and chance.random() < 0.9:
        options.append(chance.choice(sorted(grammar.needs)))
    words = [word for name in options for word in write_option(name, grammar.options[name], grammar, chance)]
    operands = [word for slot in grammar.slots(frozenset(options)) for word in _fill(slot, chance)]
    words = words + operands if chance.random() < 0.8 else operands + words
    if chance.random() < 0.2:
        words.insert(chance.randint(0, len(words)), chance.choice(HOSTILE))
    return shlex.join([*grammar.name.split(), *words])


def write_option(name: str, option: Option, grammar: Grammar, chance: random.Random) -> list[str]:
    """Write an option with its values, in one of the ways there are."""
    values = [chance.choice(WORDS[kind]) for kind in option.values]
    if not values:
        return [name]
    is_long = name.startswith("--") and not grammar.words
    joined = f"{name}={values[0]}" if is_long else f"{name}{values[0]}"
    if option.is_optional:
        return [chance.choice([name, joined])]
    return [joined] if len(values) == 1 and not grammar.words and chance.random() < 0.5 else [name, *values]


def _fill(slot: Slot, chance: random.Random) -> list[str]:
    count = {"one": 1, "maybe": chance.randint(0, 1), "many": chance.randint(0, 2)}[slot.times]
    return [chance.choice(WORDS[slot.kind]) for _ in range(count)]


def trace(argv: tuple[str, ...], folder: Path, log: Path) -> Effect:
    """Run a command and return what it did, from the kernel's point of view."""
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    done = subprocess.run(
        [*STRACE, "-o", str(log / "call"), *argv],
        cwd=folder,
        env=make_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    effects = [_read_log(file.read_text("utf-8", "replace"), folder) for file in sorted(log.iterdir())]
    return Effect(
        tuple(program for effect in effects for program in effect.programs),
        frozenset(path for effect in effects for path in effect.read),
        frozenset(path for effect in effects for path in effect.written),
        any(effect.reached_out for effect in effects),
        done.stderr.decode("utf-8", "replace"),
    )


def _read_log(text: str, folder: Path) -> Effect:
    """Read what one process did; a relative path counts from where it stood by then."""
    programs: list[str] = []
    read: set[str] = set()
    written: set[str] = set()
    reached_out = False
    for line in text.splitlines():
        call = CALL.match(line)
        if call is None:
            continue
        if call["name"].startswith("execve"):
            programs.append(QUOTED.findall(call["given"])[0])
        elif call["name"] in ("chdir", "fchdir"):
            found = STANDS_AT.search(call["given"]) or QUOTED.search(call["given"])
            folder = folder / found[1] if found and call["result"] == "0" else folder
        elif call["name"] == "socket":
            reached_out = reached_out or "AF_INET" in call["given"]
        else:
            written.update(_written(call, folder))
            read.add((call["opened"] or "<>")[1:-1])
    return Effect(tuple(programs), frozenset(read), frozenset(written), reached_out, "")


def _written(call: re.Match[str], folder: Path) -> list[str]:
    """Return the paths a system call changed; none when it failed."""
    name, given = call["name"], call["given"]
    if call["result"].startswith(("-", "?")):
        return []
    if name.startswith("open"):
        is_writing = re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE", given)
        return [(call["opened"] or "<>")[1:-1]] if is_writing else []
    base = STANDS_AT.search(given)
    names = QUOTED.findall(given) or [""]
    if name.startswith("symlink"):
        names = names[1:]
    return [os.path.normpath(Path(base[1] if base else folder) / each) for each in names]
