"""Know which git commands stay plain when a rule leaves their words open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shipmate.approvals.value import Why

# git takes any beginning of a long option for the option, so a beginning of one of these counts as it.
HARMFUL = tuple(
    """
    --upload-pack --receive-pack --exec --exec-path --config --config-env --git-dir --work-tree --template --extcmd
    --open-files-in-pager --ext-diff --textconv --output --output-directory --no-index --paginate --strategy --tool
    --separate-git-dir --recurse-submodules --filter --smtp-server --sendmail-cmd --to-cmd --cc-cmd --super-prefix
    """.split()
)
# Commands that run what they are given, or that open pagers, editors and browsers.
RUNNING = frozenset(
    """
    bisect bugreport citool clone config credential cvsserver daemon difftool fast-import filter-branch filter-repo
    for-each-repo gui help hook http-backend instaweb maintenance mergetool p4 rebase remote-ext request-pull
    send-email sh-i18n sh-setup shell submodule svn upload-archive upload-pack receive-pack var web--browse
    """.split()
)
SHOWING = frozenset(
    """
    annotate blame branch cat-file check-ignore cherry count-objects describe diff diff-tree for-each-ref log ls-files
    ls-tree merge-base name-rev range-diff reflog rev-list rev-parse shortlog show show-branch show-ref status tag
    version whatchanged
    """.split()
)
CHANGING = frozenset("add commit fetch init merge mv pull push restore revert stash switch".split())
LONG_PLAIN = re.compile(
    r"--(oneline|stat|numstat|shortstat|summary|name-only|name-status|short|long|porcelain|branch|all|graph|decorate"
    r"|no-decorate|cached|staged|abbrev-commit|no-color|list|verbose|merged|no-merged|show-current|follow|reverse"
    r"|first-parent|no-merges|merges|ignored|word-diff|patch|no-patch|quiet|dry-run|ff-only|no-edit|tags|heads"
    r"|show-toplevel|is-inside-work-tree|abbrev-ref|count|remotes|date-order|topo-order|check|exclude-standard|others"
    r"|modified|deleted|version|(since|until|after|before|author|grep|pretty|format|max-count|abbrev|date|unified|color"
    r"|untracked-files|diff-filter|sort|message|contains|points-at)(=.*)?)"
)
SHORT_PLAIN = re.compile(r"-(\d+|n\d*|U\d+|[abilmMqrstvwz]+|sb|p|u|c|L[\d,]+|[GS]\w+|1)")
SHORT_CHANGING = re.compile(r"-(m|am|a|q|v|n|A|b|\d+)")


def refuse_git(rest: Sequence[str]) -> Why | None:
    """Say why no rule may cover this git command, not even one that gives every word."""
    if not rest or rest[0] in ("--version", "version"):
        return None
    if rest[0].startswith("-"):
        return Why("option", f"git {rest[0]}")
    if rest[0] in RUNNING:
        return Why("carrier", f"git {rest[0]}")
    harmful = next((word for word in rest[1:] if _is_harmful(word)), None)
    return Why("option", harmful) if harmful else None


def _is_harmful(word: str) -> bool:
    name = word.partition("=")[0]
    if name.startswith("--") and len(name) > 2:
        return any(option.startswith(name) for option in HARMFUL) and not LONG_PLAIN.fullmatch(word)
    return name.startswith("-O") or "::" in word


def refuse_git_gap(rest: Sequence[str], given: int) -> Why | None:
    """Say why git's words after the first `given` may not fill the gap of an open rule."""
    verb = rest[0] if rest else "--version"
    if given < 1 and verb not in SHOWING | CHANGING and verb != "--version":
        return Why("option", f"git {verb}")
    short = SHORT_PLAIN if verb in SHOWING else SHORT_CHANGING
    for word in rest[max(given, 1) :]:
        plain = LONG_PLAIN if word.startswith("--") else short
        if word.startswith("-") and word != "--" and not plain.fullmatch(word):
            return Why("option", f"git {verb} {word}")
        if word.startswith(("+", ":")) and verb in CHANGING:
            return Why("option", word)
    return None
