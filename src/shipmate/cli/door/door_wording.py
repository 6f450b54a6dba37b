"""Put what is told through the doors into a person's words."""

from __future__ import annotations

from pathlib import Path

from shipmate.approvals.value import Approval
from shipmate.cli.terminal.card import describe_arguments
from shipmate.values.reveal import reveal
from shipmate.values.saying import fill, load_sayings

FOLDER = Path(__file__).parent / "words"


def tell(language: str, key: str, **values: object) -> str:
    """Return a saying with its places filled."""
    return fill(load_sayings(FOLDER, language)[key], values)


def name_call(approval: Approval) -> str:
    """Name the call of an approval in one line."""
    return f"{reveal(approval.tool)} {describe_arguments(approval.input)}".strip()
