"""A tried command shows its effects, and only a yes puts exactly those in place."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

import pytest

from shipmate.errors import TargetChangedError
from shipmate.tools.exec.preview.attempt import Attempt
from shipmate.tools.exec.preview.effect import TooMuchError
from shipmate.tools.exec.sandbox.removal import finish_removals
from shipmate.tools.file.change.rewind import Rewinds
from tests.support.tree import read_tree
from tests.tools.exec.preview.conftest import Bench


async def test_what_has_no_effect_gives_its_result_at_once(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("tea\n")
    picture = await bench.try_out("cat a.txt | tr a-z A-Z && touch -r a.txt a.txt")
    assert picture.result is not None
    assert picture.result.output == "TEA\n[exit 0]"
    assert not list(bench.context.layout.trials.iterdir())


async def test_a_failure_without_effect_is_a_result_too(bench: Bench) -> None:
    picture = await bench.try_out("ls nothing; exit 3")
    assert picture.result is not None
    assert picture.result.output.endswith("[exit 3]")


async def test_a_rewrite_of_the_same_is_no_effect(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("same\n")
    picture = await bench.try_out("echo same > a.txt; mkdir x && rmdir x; mv a.txt b && mv b a.txt")
    assert picture.result is not None


async def test_effects_are_shown_and_nothing_has_happened(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "old.txt").write_text("old\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    before = read_tree(root)
    picture = await bench.try_out(
        "echo said; sed -i s/two/2/ a.txt; rm old.txt; chmod 755 run.sh; mkdir new; "
        "printf 'a\\0b' > new/b.bin; ln -s ../a.txt new/l; exit 4"
    )
    assert picture.result is None
    text = picture.text or ""
    assert text.startswith("echo said; sed -i")
    for words in (
        "exit 4", "said", "add 3, change 2 and remove 1", "~ a.txt", "-two\n+2", "- old.txt", "-old",
        "~ run.sh (mode 644 → 755)", "+ new (folder)", "+ new/b.bin (3 bytes, no text, SHA-256 ",
        "+ new/l (link to ../a.txt)",
    ):  # fmt: skip
        assert words in text
    assert read_tree(root) == before


async def test_yes_does_exactly_what_was_shown(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    picture = await bench.try_out("echo two >> a.txt; mkdir -m 750 d; echo x > d/x; chmod 640 d/x; echo done")
    result = await bench.approve(picture)
    assert result.output == "done\n[exit 0]\n[done: 2 added, 1 changed, 0 removed]"
    assert (root / "a.txt").read_text() == "one\ntwo\n"
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "d" / "x").stat().st_mode) == 0o640
    assert not list(bench.context.layout.trials.iterdir())
    # An answer counts once.
    with pytest.raises(TargetChangedError):
        await bench.approve(picture)


async def test_no_leaves_the_workspace_as_it_was(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    before = read_tree(root)
    picture = await bench.try_out("rm a.txt; echo x > y")
    bench.trials.discard(picture.target)
    assert read_tree(root) == before
    assert not list(bench.context.layout.trials.iterdir())
    with pytest.raises(TargetChangedError):
        await bench.approve(picture)
    assert read_tree(root) == before


@pytest.mark.parametrize("damage", ["content", "plan", "result", "gone"])
async def test_what_a_power_cut_took_of_a_trial_is_never_put_in_place(
    bench: Bench, root: Path, damage: str
) -> None:
    (root / "a.txt").write_text("one\n")
    picture = await bench.try_out("echo two >> a.txt; echo x > y")
    before = read_tree(root)
    (trial,) = bench.context.layout.trials.iterdir()
    kept = {"content": "new/1", "plan": "plan.json", "result": "result.json", "gone": "new/2"}[damage]
    if damage == "gone":
        (trial / kept).unlink()
    else:
        (trial / kept).write_bytes(b"")
    with pytest.raises(TargetChangedError):
        await bench.approve(picture)
    assert read_tree(root) == before


async def test_what_a_trial_wrote_goes_aside_and_away(bench: Bench, root: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for command in ("true", "echo x > y", "exit 3"):
        attempt = Attempt(bench.sandbox, bench.context, command, 20, 16_000)
        await bench.trials.run(command, bench.context, attempt, can_overlay=bench.overlay, place=place)
        finish_removals()
        assert not list(place.iterdir())
    assert not (root / "y").exists()


async def test_a_base_that_changed_is_asked_anew(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    (root / "b.txt").write_text("one\n")
    picture = await bench.try_out("echo two >> a.txt; echo two >> b.txt")
    (root / "b.txt").write_text("mine\n")
    with pytest.raises(TargetChangedError):
        bench.trials.picture(picture.target)
    with pytest.raises(TargetChangedError):
        await bench.approve(picture)
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "b.txt").read_text() == "mine\n"
    again = await bench.try_out("echo two >> a.txt; echo two >> b.txt")
    assert again.target != picture.target
    await bench.approve(again)
    assert (root / "b.txt").read_text() == "mine\ntwo\n"


async def test_c7_a_yes_to_one_trial_does_not_put_another_in_place(bench: Bench, root: Path) -> None:
    shown = await bench.try_out("echo one > a.txt")
    await bench.try_out("echo two > a.txt")
    with pytest.raises(TargetChangedError):
        await bench.approve(shown)
    assert not (root / "a.txt").exists()


async def test_the_same_trial_twice_has_the_same_target(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    first = await bench.try_out("echo two >> a.txt")
    second = await bench.try_out("echo two >> a.txt")
    assert first == second


NEVER = {
    "a secret": ("echo KEY=1 > .env", ".env", "protected"),
    "a secret below": ("mkdir sub && echo KEY=1 > sub/.env", "sub/.env", "protected"),
    "the prompt": ("echo x > SOUL.md", "SOUL.md", "protected"),
    "a hook": ("mkdir -p sub/.husky && echo x > sub/.husky/pre-push", "sub/.husky/pre-push", "protected"),
    "a link out": ("ln -s /etc/passwd out", "out", "leads out"),
    "a link up": ("mkdir d && ln -s ../../x d/out", "d/out", "leads out"),
    "a link to a secret": ("ln -s .env env.txt", "env.txt", "protected"),
    "a pipe": ("mkfifo pipe", "pipe", "device, pipe or socket"),
    "a set-id program": ("cp /bin/true t && chmod 4755 t", "t", "as somebody else"),
    "a set-group program": ("cp /bin/true t && chmod 2755 t", "t", "as somebody else"),
    "a name that hides": ("touch $'a\\u202etxt.exe'", "a\\u{202e}txt.exe", "cannot be shown"),
    "a name of two lines": ("touch $'a\\nb'", "a", "cannot be shown"),
}  # fmt: skip


@pytest.mark.parametrize("what", NEVER)
async def test_what_is_never_put_in_place_is_named(bench: Bench, root: Path, what: str) -> None:
    command, path, why = NEVER[what]
    before = read_tree(root)
    picture = await bench.try_out(f"{command}; echo fine > plain.txt")
    text = picture.text or ""
    assert "Never done, whatever you answer:" in text
    assert f"! {path}" in text
    assert why in text
    await bench.approve(picture)
    after = read_tree(root)
    assert after.pop("plain.txt") == ("file", 0o644, b"fine\n")
    folders = {path for path, entry in after.items() if entry[0] == "folder"}
    assert {path: entry for path, entry in after.items() if path not in folders - before.keys()} == before


async def test_only_forbidden_effects_need_no_question(bench: Bench, root: Path) -> None:
    picture = await bench.try_out("echo KEY=1 > .env; echo said")
    assert picture.result is not None
    assert picture.result.output.startswith("said\n[exit 0]\nNever done")
    assert not (root / ".env").exists()


async def test_a_folder_that_holds_what_stays_stays(bench: Bench, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / ".env").write_text("KEY=1\n")
    (root / "sub" / "a.txt").write_text("a\n")
    picture = await bench.try_out("mv sub moved || rm -rf sub; echo fine > plain.txt")
    await bench.approve(picture)
    assert (root / "sub" / ".env").read_text() == "KEY=1\n"


async def test_a_secret_is_neither_read_nor_shown(bench: Bench, root: Path) -> None:
    (root / ".env").write_text("KEY=s3cret\n")
    picture = await bench.try_out("cat .env; cp .env copy.txt; echo x > y")
    assert "s3cret" not in (picture.text or "")
    await bench.approve(picture)
    assert all(b"s3cret" not in entry[2] for path, entry in read_tree(root).items() if path != ".env")


async def test_there_is_no_network(bench: Bench) -> None:
    picture = await bench.try_out("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' \\n'")
    assert picture.result is not None
    assert picture.result.output in ("lo\n[exit 0]", "[exit 0]")


async def test_what_takes_too_long_is_stopped(bench: Bench, root: Path) -> None:
    picture = await bench.try_out("echo x > y; sleep 60", seconds=1)
    assert "stopped after 1 s" in (picture.text or "")
    assert not (root / "y").exists()


@pytest.mark.parametrize(("limit", "most"), [("EFFECT_LIMIT", 3), ("CONTENT_LIMIT", 3_000)])
async def test_what_nobody_could_judge_is_not_kept(
    bench: Bench, root: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(f"shipmate.tools.exec.preview.effect.{limit}", most)
    before = read_tree(root)
    with pytest.raises(TooMuchError, match="it changed more than"):
        await bench.try_out("for n in 1 2 3 4; do head -c 1000 /dev/zero > $n; done")
    assert read_tree(root) == before
    assert not list(bench.context.layout.trials.iterdir())


async def test_modes_that_close_are_read_and_applied(bench: Bench, root: Path) -> None:
    picture = await bench.try_out("mkdir shut; echo x > shut/x; chmod 000 shut/x; chmod 500 shut")
    await bench.approve(picture)
    assert stat.S_IMODE((root / "shut").stat().st_mode) == 0o500
    assert stat.S_IMODE((root / "shut" / "x").stat().st_mode) == 0


async def test_a_previewed_run_is_rewound(bench: Bench, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    (root / "d").mkdir()
    (root / "d" / "b.txt").write_text("b\n")
    before = read_tree(root)
    picture = await bench.try_out("rm -r d; echo two >> a.txt; mkdir e; echo e > e/e")
    await bench.approve(picture)
    assert read_tree(root).keys() != before.keys()
    Rewinds(bench.context.layout).rewind(bench.context.run_id)
    assert read_tree(root) == before


async def test_nothing_a_trial_does_reaches_the_workspace(bench: Bench, root: Path) -> None:
    """Whatever is covered, closed or kept in its place for other commands: a trial gets it aside as well."""
    protected = (
        "projects/p/meta.json", "members/bo/Agent.md", "skills/k/SKILL.md", "sub/.env", "sub/deep/.vscode/x",
        "sub/.git/HEAD", "memory/MEMORY.md", ".minds/x.md", "ship.json", "projects/p/notes/.husky/x",
    )  # fmt: skip
    for path in (*protected, "plain/a.txt", "projects/p/a.txt", "sub/deep/a.txt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("{}\n")
    (root / "link").symlink_to("projects/p")
    before = read_tree(root)
    everywhere = "find . -path ./.ship -prune -o -type d -print -o -type f -print"
    for act in ('echo x > "$0/new"', 'echo x >> "$0"', 'chmod 700 "$0"', 'mv "$0" "$0.moved"', 'rm -rf "$0"'):
        with contextlib.suppress(TooMuchError):
            await bench.try_out(f"{everywhere} | while read -r p; do sh -c '{act}' \"$p\"; done")
        assert read_tree(root) == before, act
