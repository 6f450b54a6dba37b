"""Know which programs run other programs, or do more than their words say.

A rule may leave words open (`ls *`); what fills the gap is looked at here. Programs that start others are
never covered by a rule. Programs that run code from files or options are covered only when a rule gives every
word. For the programs people most often leave open, only options known to be harmless pass: a list of harmful
ones would always miss one. The names are in `data/program.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shipmate.approvals.listing import load_lists
from shipmate.approvals.policy.git import refuse_git, refuse_git_gap
from shipmate.values.reason import Why

LISTS = load_lists("program")

CARRIERS = frozenset(LISTS["carriers"])
SPELLED = frozenset(LISTS["spelled"])
ORDINARY = frozenset(LISTS["ordinary"])
VERSIONED = re.compile(r"(python|pypy|perl|ruby|lua|php|node|pip|gcc|clang)-?[\d.]+")
INLINE_CODE = re.compile(
    r"-[a-z]*[ceEr]|--?(eval|exec|command|execute|run|code|require|import|print)(=.*)?|-c.+|-e.+"
)
FIND_ACTING = re.compile(r"-(exec|ok|delete|fprint|fls|files0)")
# tar's first word holds options even without a dash.
TAR_CLUSTER = re.compile(r"-?[ctxvzjJf]+|--list")
TAR_PLAIN = re.compile(r"-[ctxvzjJf]+|[^-].*|--(list|verbose|gzip|bzip2|xz)")
# A line of sed that can neither run nor write anything: an address and `p`.
SED_PLAIN = re.compile(r"-n|--quiet|\d*,?[\d$]*p|[\w][\w./-]*")

# Written as text: each is compiled when its program is first met.
HARMLESS: Mapping[str, str] = {
    "find": (
        r"-(name|iname|path|ipath|wholename|regex|iregex|type|size|empty|maxdepth|mindepth|mtime|mmin|atime|amin"
        r"|ctime|cmin|newer|user|group|perm|links|not|o|or|a|and|print|print0|ls|prune|quit|depth|xdev|mount)"
    ),
    "pytest": (r"-[qvxsklm\d]+|--(lf|ff|last-failed|failed-first|maxfail|tb|durations|collect-only)(=.*)?"),
    "rg": (r"-[ivnlcowFHNSLABC\d]+|--(ignore-case|line-number|files|count|hidden|json|word-regexp)"),
    "grep": r"-[rRinlLcvwxoEFGPHhsqABCm\d]+|--(include|exclude|exclude-dir|color|count)(=.*)?",
    "fd": r"-[aHIgipLtedEsS\d]+|--(hidden|no-ignore|type|extension|max-depth|glob)(=.*)?",
    "sort": r"-[bdfghinruV]+|-k[\d,.nr]+|-t.?",
    "jq": r"-[rcsneSMCaj]+",
    "date": r"-[uRI]|--(utc|iso-8601|rfc-3339|rfc-email)(=.*)?",
    "diff": r"-[abBEiNqrsuwyU\d]+|--(brief|unified|color|side-by-side|recursive)(=.*)?",
    "file": r"-[bhiLk]+|--(brief|mime|mime-type)",
    "tree": r"-[adfFhiLpsugDtr]+",
    "xxd": r"-[bclpsug\d]+",
    "uniq": r"-[cdiu]+",
    "hostname": r"-[sfdiI]+",
    "ls": (r"-[\w]+|--(all|almost-all|human-readable|recursive|reverse|color|sort|time|size)(=.*)?"),
    "cat": r"-[AbeEnstTuv]+|--(number|show-all|squeeze-blank)",
    "head": r"-[cnqvz\d]+|--(lines|bytes)=\d+",
    "tail": r"-[cnqvz\d]+|--(lines|bytes)=\d+",
    "wc": r"-[clmwL]+|--(lines|words|bytes|chars)",
}
# A long option of any other program with one of these in its name is taken to run or write something.
SUSPECT = re.compile(
    r"exec|eval|command|cmd|program|pager|hook|editor|script|plugin|filter|shell|proxy|rsh|pack|checkpoint|config"
    r"|output|delete|write|load|module|require|import|init|file|dir|root|home|path|compress|log",
    re.IGNORECASE,
)
SECRETIVE = re.compile(
    r"(^|[/=:@,])\.(env|envrc|ship|ssh|netrc|git|git-credentials|gnupg|aws)([./]|$)|ship\.json|id_rsa|/proc/|/dev/",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"https?://[\w.@:/~%?&=+,#-]+|git@[\w.-]+:[\w./~-]+", re.IGNORECASE)
WAY_OUT = re.compile(r"(^|[=:,@])[/~]|^-[A-Za-z]+[/~.]")


def name_of(words: Sequence[str]) -> str:
    """Give a program's name without its folder."""
    return (words[0].rpartition("/")[2] or words[0]).casefold() if words else ""


def is_spelled(name: str) -> bool:
    """Tell whether a program is covered only by a rule that gives every word."""
    return name in SPELLED or VERSIONED.fullmatch(name) is not None


def refuse_program(words: Sequence[str]) -> Why | None:
    """Say why no rule may cover this command, not even one that gives every word of it."""
    name, rest = name_of(words), words[1:]
    if name in CARRIERS:
        return Why("carrier", name)
    if name == "git":
        return refuse_git(rest)
    if name == "find" and (acting := next((word for word in rest if FIND_ACTING.match(word)), None)):
        return Why("option", acting)
    if name == "tar" and (odd := next((word for word in rest if not TAR_PLAIN.fullmatch(word)), None)):
        return Why("option", odd)
    if name == "tar" and rest and not TAR_CLUSTER.fullmatch(rest[0]):
        return Why("option", rest[0])
    if name == "sed" and (odd := next((word for word in rest if not SED_PLAIN.fullmatch(word)), None)):
        return Why("inline", f"sed {odd}")
    if is_spelled(name) and (code := next((word for word in rest if INLINE_CODE.fullmatch(word)), None)):
        return Why("inline", f"{name} {code}")
    return None


def refuse_gap(words: Sequence[str], given: int) -> Why | None:
    """Say why the words after the first `given` may not fill the gap of an open rule."""
    name = name_of(words)
    if is_spelled(name):
        return Why("spelled", name)
    if given == 0 and words[0] not in ORDINARY:
        return Why("unnamed", words[0])
    reasons = (_refuse_word(word) or _refuse_option(name, word) for word in words[max(given, 1) :])
    if reason := next((reason for reason in reasons if reason), None):
        return reason
    return refuse_git_gap(words[1:], given - 1) if name == "git" else None


def _refuse_word(word: str) -> Why | None:
    if SECRETIVE.search(word):
        return Why("kept", word)
    if ADDRESS.fullmatch(word):
        return None
    if "://" in word or "::" in word:
        return Why("address", word)
    if ".." in re.split(r"[/=:,]", word) or WAY_OUT.search(word):
        return Why("outside-word", word)
    return None


def _refuse_option(name: str, word: str) -> Why | None:
    if not word.startswith("-") or name == "git":
        return None
    options = HARMLESS.get(name)
    if options is not None:
        return None if re.fullmatch(options, word) else Why("option", f"{name} {word}")
    return Why("option", f"{name} {word}") if len(word) > 2 and SUSPECT.search(word) else None
