from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import PrimingError
from shipmate.priming.ref import ScriptRef, read_slug
from shipmate.workspace.layout import Layout


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("team_shared/probe", ScriptRef(None, "probe")),
        ("team_shared/a/b.c/d-e_f", ScriptRef(None, "a/b.c/d-e_f")),
        ("individual/ux/probe", ScriptRef("ux", "probe")),
        (" individual/ux/deep/probe.md ", ScriptRef("ux", "deep/probe")),
    ],
)
def test_reads_a_ref(text: str, ref: ScriptRef) -> None:
    assert ScriptRef.parse(text) == ref
    assert ScriptRef.parse(str(ref)) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "probe",
        "team_shared",
        "team_shared/",
        "individual/ux",
        "individual//probe",
        "/team_shared/probe",
        "other/probe",
        "team_shared/../../etc/passwd",
        "team_shared/a/../b",
        "team_shared/..",
        "team_shared/..a",
        "team_shared/./a",
        "team_shared/a//b",
        "team_shared/a\\b",
        "team_shared/a b",
        "team_shared/探针",
        "team_shared/a\0b",
        "team_shared/a\nb",
        "team_shared/x.md.md",
        "individual/../probe",
        "individual/u..x/probe",
        "team_shared/" + "a" * 101,
        "team_shared/" + "a/" * 300 + "a",
    ],
)
def test_refuses_anything_else(text: str) -> None:
    with pytest.raises(PrimingError):
        ScriptRef.parse(text)


def test_a_slug_may_be_given_with_its_ending() -> None:
    assert read_slug(" a/b.md ") == "a/b"
    with pytest.raises(PrimingError, match="slug"):
        read_slug("/etc/passwd")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.shared_priming.mkdir(parents=True)
    (tmp_path / "secret.md").write_text("x", encoding="utf-8")
    (layout.shared_priming / "out.md").symlink_to(tmp_path / "secret.md")
    (layout.shared_priming / "folder").symlink_to(tmp_path)
    (layout.shared_priming / "loop.md").symlink_to(layout.shared_priming / "loop.md")
    (layout.shared_priming / "in.md").symlink_to(layout.shared_priming / "real.md")
    for slug in ("out", "folder/secret"):
        with pytest.raises(PrimingError, match="leads out"):
            ScriptRef(None, slug).path(layout)
    assert ScriptRef(None, "in").path(layout) == layout.shared_priming / "in.md"
