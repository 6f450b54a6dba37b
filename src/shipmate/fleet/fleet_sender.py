"""Send for a whole fleet: one process does, and every other tells it what waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shipmate.delivery.sender import Sender
from shipmate.fleet import fleet_frame as frames
from shipmate.fleet.bus import Bus

# The place of the process that sends.
SENDING = "sending"


class FleetSender(Sender):
    """The sending of a process in a fleet: its own while it has the place, else that of whoever has."""

    def __init__(self, *parts: Any, bus: Bus, leads: Callable[[], bool], **more: Any) -> None:
        super().__init__(*parts, **more)
        self._bus = bus
        self._leads = leads

    @property
    def is_here(self) -> bool:
        """Return whether this process sends."""
        return self._leads()

    def wake(self, thread_id: str) -> None:
        """Send what waits in a thread, or have it sent."""
        if self._leads():
            super().wake(thread_id)
        else:
            self._bus.say(frames.SendWish(thread_id=thread_id), urgent=True)
