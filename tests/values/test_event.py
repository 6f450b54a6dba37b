"""What platforms are to the core."""

from __future__ import annotations

from shipmate.values.event import SURFACES, Surface, surface_of


def test_a_platform_nobody_described_may_do_nothing() -> None:
    assert surface_of("carrier-pigeon") == Surface()
    assert not any((surface_of("").is_owner, surface_of("").shows_calls, surface_of("").shows_whole))


def test_only_surfaces_that_hold_the_workspace_show_calls_whole() -> None:
    assert {name for name, surface in SURFACES.items() if surface.is_owner} == {"acp", "cli", "web"}
    assert all(surface.is_owner for surface in SURFACES.values() if surface.shows_whole)
    assert all(surface.shows_calls for surface in SURFACES.values() if surface.is_owner)
