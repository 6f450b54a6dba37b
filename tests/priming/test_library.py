from __future__ import annotations

import os
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError, PathError, PrimingError
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.workspace.layout import Layout
from tests.support.priming_script import Put


def refs(library: Library, member: str = "ux") -> list[str]:
    return [entry.script_ref for entry in library.list(member).entries]


def test_an_empty_workspace_has_no_scripts(library: Library) -> None:
    assert library.list("ux").entries == []
    assert library.search("ux", "a").entries == []


def test_lists_what_is_meant_for_a_member_newest_first(library: Library, put: Put) -> None:
    os.utime(put("individual/ux/own", "applicableMemberIds: [other]"), (100, 100))
    os.utime(put("individual/other/theirs"), (500, 500))
    os.utime(put("team_shared/deep/all"), (300, 300))
    os.utime(put("team_shared/for_ux", "applicableMemberIds: [ux]"), (200, 200))
    os.utime(put("team_shared/for_other", "applicableMemberIds: [other]"), (400, 400))
    assert refs(library) == ["team_shared/deep/all", "team_shared/for_ux", "individual/ux/own"]
    assert refs(library, "other") == [
        "individual/other/theirs",
        "team_shared/for_other",
        "team_shared/deep/all",
    ]


def test_describes_a_script(library: Library, put: Put) -> None:
    os.utime(put("team_shared/a/probe", "title: ' 环境探针 '"), (0, 0))
    (entry,) = library.list("ux").entries
    assert (entry.slug, entry.title, entry.records) == ("a/probe", "环境探针", 2)
    assert entry.path == ".minds/priming/team_shared/a/probe.md"
    assert entry.updated_at == "1970-01-01T00:00:00.000Z"


def test_searches_slug_ref_and_title_on_disk_each_time(library: Library, put: Put) -> None:
    put("team_shared/alpha", "title: Environment Probe")
    put("individual/ux/beta", "title: 环境探针")

    def found(query: str) -> list[str]:
        return sorted(entry.slug for entry in library.search("ux", query).entries)

    assert found(" ALPHA ") == ["alpha"]
    assert found("探针") == ["beta"]
    assert found("vironment pr") == ["alpha"]
    assert found("individual/ux") == ["beta"]
    assert found("  ") == []
    assert found("hello") == []
    put("team_shared/gamma", "title: probe two")
    put("team_shared/alpha", "title: renamed now")
    assert found("probe") == ["gamma"]
    (library.layout.shared_priming / "gamma.md").unlink()
    assert found("probe") == []


def test_search_gives_no_more_than_asked_for(library: Library, put: Put) -> None:
    for number in range(5):
        put(f"team_shared/s{number}")
    assert len(library.search("ux", "s", limit=3).entries) == 3


def test_files_that_cannot_be_used_are_reported_and_passed_over(library: Library, put: Put) -> None:
    put("team_shared/good")
    put("team_shared/bad", body="### user\n")
    put("team_shared/两")
    put("team_shared/not utf8").write_bytes(b"\xff")
    shared = library.layout.shared_priming
    (library.layout.root / "secret.md").write_text("### user", encoding="utf-8")
    (shared / "out.md").symlink_to(library.layout.root / "secret.md")
    (shared / "gone.md").symlink_to(shared / "nothing.md")
    (shared / "loop").symlink_to(shared)
    os.mkfifo(shared / "pipe.md")
    (shared / "folder.md").mkdir()
    listing = library.list("ux")
    assert [entry.slug for entry in listing.entries] == ["good"]
    assert len(listing.problems) == 6
    assert any("bad.md:1: record 1:" in problem for problem in listing.problems)
    assert any("leads out" in problem for problem in listing.problems)
    assert not any("secret" in problem for problem in listing.problems)


@pytest.mark.parametrize(
    "place", [".minds", ".minds/priming", ".minds/priming/individual/ux", ".minds/priming/team_shared"]
)
@pytest.mark.parametrize("inside", [True, False])
def test_p7_a_folder_that_is_a_link_is_not_followed(
    layout: Layout, put: Put, place: str, inside: bool
) -> None:
    put("individual/ux/own")
    put("team_shared/all")
    put("individual/other/theirs")
    target = layout.root / "moved" if inside else layout.root.with_name(f"{layout.root.name}-moved")
    (layout.root / place).rename(target)
    (layout.root / place).symlink_to(target)
    library = Library(layout)
    listing = library.list("ux")
    led = [
        ScriptRef.parse(ref)
        for ref in ("individual/ux/own", "team_shared/all")
        if place in f".minds/priming/{ref}"
    ]
    assert led
    assert not {str(ref) for ref in led} & {entry.script_ref for entry in listing.entries}
    assert any("leads elsewhere" in problem for problem in listing.problems)
    for ref in led:
        assert library.find(ref) is None
        with pytest.raises(PrimingError, match="leads out"):
            library.load(ref)
        with pytest.raises(PrimingError, match="leads out"):
            library.show(ref)


def test_p7_a_link_from_one_members_folder_to_anothers_is_refused(library: Library, put: Put) -> None:
    put("individual/other/theirs")
    individual = library.layout.priming / "individual"
    (individual / "ux").symlink_to(individual / "other")
    assert library.list("ux").entries == []
    with pytest.raises(PrimingError, match="leads out"):
        library.load(ScriptRef("ux", "theirs"), "ux")


def test_p7_a_linked_folder_inside_is_said(library: Library, put: Put, tmp_path: Path) -> None:
    put("team_shared/a")
    (tmp_path / "out").mkdir()
    (library.layout.shared_priming / "more").symlink_to(tmp_path / "out")
    listing = library.list("ux")
    assert [entry.slug for entry in listing.entries] == ["a"]
    assert ["leads elsewhere" in problem for problem in listing.problems] == [True]


def test_the_workspace_itself_may_be_a_link(layout: Layout, put: Put) -> None:
    put("team_shared/a")
    link = layout.root.with_name(f"{layout.root.name}-link")
    link.symlink_to(layout.root)
    assert refs(Library(Layout(link))) == ["team_shared/a"]


@pytest.mark.parametrize(
    "head",
    [
        "---\napplicableMemberIds: ux\n---\n",
        "---\napplicableMemberIds:\n---\n",
        "---\napplicableMemberIds: []\n---\n",
        "---\napplicableMemberIds: ['']\n---\n",
        "---\napplicableMemberIds: [ux, 3]\n---\n",
        "---\napplicableMemberIds: [[ux]]\n---\n",
        "---\napplicableMemberIds: {ux: true}\n---\n",
        "---\napplicableMemberIds: false\n---\n",
        "---\napplicable_members: ux coder\n---\n",
        "---\napplicableMemberIds: [ux]\napplicable_members: [coder]\n---\n",
        "---\napplicableMembers: [ux]\n---\n",
        "---\napplicableMemberId: ux\n---\n",
        "---\napplicableMemberids: [ux]\n---\n",
        "---\napplicable-member-ids: [ux]\n---\n",
        "---\naplicableMemberIds: [ux]\n---\n",
        "---\nAPPLICABLE_MEMBERS: [ux]\n---\n",
        "---\nmembers: [ux]\n---\n",
        "---\nmemberIds: [ux]\n---\n",
        "---\nappliesTo: [ux]\n---\n",
        "---\npriming:\n  applicableMemberIds: [ux]\n---\n",
        "---\n- applicableMemberIds: [ux]\n---\n",
        "---\napplicableMemberIds [ux]\n---\n",
        "---\napplicableMemberIds: [ux\n---\n",
        "---\napplicableMemberIds: [ux]\n--- \n",
        "---\napplicableMemberIds: [ux]\n",
        "\n---\napplicableMemberIds: [ux]\n---\n",
        " ---\napplicableMemberIds: [ux]\n---\n",
        "--- \napplicableMemberIds: [ux]\n---\n",
        "----\napplicableMemberIds: [ux]\n----\n",
        "# Title\n---\napplicableMemberIds: [ux]\n---\n",
        "<!-- a remark -->\n---\napplicableMemberIds: [ux]\n---\n",
        "+++\napplicableMemberIds = ['ux']\n+++\n",
        "```yaml\napplicableMemberIds: [ux]\n```\n",
        '{"kind": "agent_priming_script", "applicableMemberIds": ["ux"]}\n',
        "applicableMemberIds: [ux]\n",
        "**Applicable members**: ux\n",
        "---\n---\napplicableMemberIds: [ux]\n---\n",
        "---\nkind: agent_priming_script\n---\n\napplicableMemberIds: [ux]\n",
    ],
)
def test_p4_a_restriction_that_cannot_be_read_closes_the_script(
    library: Library, put: Put, head: str
) -> None:
    path = put("team_shared/closed")
    path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
    listing = library.list("other")
    assert listing.entries == []
    assert listing.problems or library.list("ux").entries
    with pytest.raises(PrimingError):
        library.load(ScriptRef(None, "closed"), "other")


def test_the_member_cannot_lead_out_of_the_library(library: Library) -> None:
    with pytest.raises(PathError):
        library.list("..")


def test_loads_only_what_is_meant_for_the_member(library: Library, put: Put) -> None:
    put("team_shared/for_ux", "applicableMemberIds: [ux]")
    put("individual/ux/own")
    assert len(library.load(ScriptRef(None, "for_ux"), "ux").records) == 2
    assert len(library.load(ScriptRef("ux", "own")).records) == 2
    for ref in (ScriptRef(None, "for_ux"), ScriptRef("ux", "own")):
        with pytest.raises(PrimingError, match="is not for other"):
            library.load(ref, "other")
    with pytest.raises(NotFoundError, match="no script team_shared/none"):
        library.load(ScriptRef(None, "none"))


def test_shows_a_script_with_its_mistakes(library: Library, put: Put) -> None:
    put("team_shared/bad", body="### user\n")
    put("team_shared/good", "title: T")
    bad, good = library.show(ScriptRef(None, "bad")), library.show(ScriptRef(None, "good"))
    assert (bad.records, len(bad.problems), bad.text) == (0, 1, "### user\n")
    assert (good.title, good.records, good.problems) == ("T", 2, [])


def test_goes_over_every_file(library: Library, put: Put, layout: Layout) -> None:
    put("team_shared/a")
    put("individual/ux/b")
    put("individual/other/坏")
    found = {path.relative_to(layout.priming).as_posix(): str(ref) for ref, path in library.every()}
    assert found == {
        "team_shared/a.md": "team_shared/a",
        "individual/ux/b.md": "individual/ux/b",
        "individual/other/坏.md": "None",
    }
    assert isinstance(layout.priming, Path)


def test_a_script_that_changed_within_a_moment_is_read_anew(library: Library, put: Put) -> None:
    path = put("team_shared/a", "title: one")
    then = path.stat()
    assert [entry.title for entry in library.list("captain").entries] == ["one"]
    path.write_text(path.read_text().replace("title: one", "title: three"))
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert [entry.title for entry in library.list("captain").entries] == ["three"]
