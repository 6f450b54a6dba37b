"""What an answer says of a failure names no place of the machine."""

from __future__ import annotations

from shipmate.errors import UserError
from shipmate.server.guard.error import translate


def test_d6_an_error_names_paths_as_people_do_within_the_workspace() -> None:
    told = translate(UserError("/srv/harbour/scripts/tea.md cannot be read in /srv/harbour."), "/srv/harbour")
    assert told is not None
    assert told.problem.message == "scripts/tea.md cannot be read in the workspace."
