"""The world outside the workspace: what tools did to it, what people said and were told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent, Outcome


@dataclass(frozen=True, slots=True)
class Act:
    """One effect of a tool."""

    tool: str
    thread_id: str
    run_id: str
    call_id: str
    mark: str
    at: float

    @property
    def key(self) -> tuple[str, str, str]:
        """Name the call it belongs to."""
        return self.thread_id, self.call_id, self.mark


@dataclass(slots=True)
class Said:
    """One event that somebody handed over, as often as they did."""

    event: IngressEvent
    # Set once a keeper confirmed that it is stored; its place among all of the thread.
    seq: int | None = None
    # When the keeper got it; not known when nobody heard of its being stored.
    received_at: str | None = None
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    # Somebody asked to take it back; `is_withdrawn` once that was confirmed.
    withdrawals: int = 0
    is_withdrawn: bool = False

    @property
    def is_acknowledged(self) -> bool:
        return self.seq is not None

    def acknowledge(self, row: InboxRow) -> None:
        """Note that it is stored; the first time says where."""
        if self.seq is None:
            self.seq = row.seq
            self.received_at = row.received_at if row.seq else None


@dataclass(slots=True)
class Outside:
    """Everything that happened and cannot be taken back."""

    acts: list[Act] = field(default_factory=list[Act])
    said: dict[tuple[str, str], Said] = field(default_factory=dict[tuple[str, str], Said])
    # Calls that a person said yes to: thread, call, mark.
    leaves: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    # The run of each thread that somebody wanted to stop last, and those that were confirmed to be.
    stopping: dict[str, str] = field(default_factory=dict[str, str])
    stopped: dict[str, str] = field(default_factory=dict[str, str])
    # How often a model was asked and did not come to its end, by thread.
    broken: Counter[str] = field(default_factory=Counter[str])
    # How often a process died of its model, by the thread that asked.
    deaths: Counter[str] = field(default_factory=Counter[str])
    # Titles that a thread may have, once one was confirmed.
    titles: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    renamed: dict[str, bool] = field(default_factory=dict[str, bool])
    # Acts that no pressed button gave leave for: words may have.
    unsure: list[Act] = field(default_factory=list[Act])
    marks: int = 0
    troubles: list[str] = field(default_factory=list[str])

    def new_mark(self) -> str:
        """Return a word nobody used before."""
        self.marks += 1
        return f"k{self.marks}"

    def begin(self, run_id: str, call_id: str) -> None:
        """Hear that a tool begins."""
        if run_id in self.stopped:
            self.troubles.append(f"{call_id} began after its run {run_id} was stopped")

    def act(self, act: Act) -> None:
        """Record an effect."""
        if act.tool == "act" and act.key not in self.leaves:
            self.unsure.append(act)
        self.acts.append(act)
