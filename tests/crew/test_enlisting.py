"""Members are taken on, renamed and let go; what was there can be brought back."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.crew.enlisting import dismiss, enlist, rename, set_variable
from shipmate.crew.roster import Roster
from shipmate.errors import NotFoundError, UserError
from tests.crew.test_roster import make_crew


def test_a_member_comes_is_renamed_and_goes_with_its_relations(tmp_path: Path) -> None:
    crew = make_crew(tmp_path, "bob")
    nina = enlist(crew, "nina", "# Nina\n\nMeasures.\n", model="rehearsal", colour=None)
    assert (nina.name, nina.settings.model, nina.settings.colour) == ("Nina", "rehearsal", None)
    Roster(crew).relate("bob", "nina", "peer")
    rename(crew, nina, " Nina  the Second ")
    assert crew.choose("nina the second").id == "nina"
    set_variable(crew, crew.find("nina"), "KEY", "hidden")
    place = tmp_path / "members/nina/member.json"
    assert (place.stat().st_mode & 0o777, crew.find("nina").settings.env) == (0o600, {"KEY": "hidden"})
    set_variable(crew, crew.find("nina"), "KEY", None)
    assert crew.find("nina").settings.env == {}
    kept = dismiss(crew, crew.find("nina"))
    assert crew.ids() == ["captain", "bob"]
    assert Roster(crew).relations(crew.find("bob")) == []
    kept.rename(tmp_path / "members/nina")
    assert crew.find("nina").name == "Nina the Second"


@pytest.mark.parametrize("name", ["../x", "", "a/b", "captain", "bob", ".hidden", "x" * 65])
def test_an_id_that_leads_elsewhere_or_is_taken_makes_nothing(tmp_path: Path, name: str) -> None:
    crew = make_crew(tmp_path, "bob")
    with pytest.raises(UserError):
        enlist(crew, name, "# X\n")
    assert crew.ids() == ["captain", "bob"]


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    crew = make_crew(tmp_path, "bob", "eve")
    with pytest.raises(UserError, match="eve is called 'Eve' already"):
        enlist(crew, "nina", "# X\n", name="eve")
    for wrong in ("Eve", "", "x" * 61):
        with pytest.raises(UserError):
            rename(crew, crew.find("bob"), wrong)
    with pytest.raises(UserError):
        dismiss(crew, crew.find("captain"))
    with pytest.raises(UserError):
        set_variable(crew, crew.find("bob"), "A=B", "x")
    with pytest.raises(NotFoundError):
        set_variable(crew, crew.find("bob"), "GONE", None)
