"""For generated commands, what a yes puts in place is what the same command does when it is run directly."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipmate.errors import TargetChangedError
from shipmate.tools.exec.preview.attempt import Attempt
from shipmate.tools.exec.preview.trial import Trials
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.file.change.rewind import Rewinds
from shipmate.tools.tool import Picture, ToolContext
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of
from tests.support.search import examples
from tests.support.tree import Entry, read_tree

NAMES = ("a", "b", "c.txt", "d", "d/e", "d/f.txt", "d/g/h", "k", "茶")
paths = st.sampled_from(NAMES)
modes = st.sampled_from(("600", "644", "755", "444", "700", "000", "u+x", "go-rwx"))
words = st.sampled_from(("tea", "boat", "x y", "", "茶"))

commands = st.one_of(
    st.builds("mkdir {}".format, paths),
    st.builds("mkdir -p -m 750 {}".format, paths),
    st.builds("echo {1} > {0}".format, paths, words),
    st.builds("printf %s {1} >> {0}".format, paths, words),
    st.builds("cp {} {}".format, paths, paths),
    st.builds("cp -r {} {}".format, paths, paths),
    st.builds("mv {} {}".format, paths, paths),
    st.builds("rm {}".format, paths),
    st.builds("rm -rf {}".format, paths),
    st.builds("rmdir {}".format, paths),
    st.builds("chmod {1} {0}".format, paths, modes),
    st.builds("ln -s {} {}".format, st.sampled_from(("a", "d/e", "c.txt")), paths),
    st.builds("ln {} {}".format, paths, paths),
    st.builds("sed -i s/tea/TEA/ {}".format, paths),
    st.builds("touch {}".format, paths),
    st.builds("truncate -s 3 {}".format, paths),
    st.just("(cd d && echo in > new)"),
)
scripts = st.lists(commands, min_size=1, max_size=8).map(" ; ".join)
entries = st.one_of(st.sampled_from(("tea\n", "tea tea", "", "boat\n")), st.just(None))
trees = st.dictionaries(paths, entries, max_size=6)


class Twins:
    """A workspace and its twin, made alike."""

    def __init__(self, folder: Path) -> None:
        self.root, self.twin = folder / "workspace", folder / "twin"
        self.layout = Layout(self.root)
        self.root.mkdir()
        (self.root / "Agent.md").write_text("# Captain\n")
        self.sandbox = Sandbox(self.layout)
        self.context = ToolContext(
            member=captain_of(self.layout), thread_id="cli:local:t", run_id="run_1", call_id="c"
        )

    def clear(self, tree: dict[str, str | None]) -> None:
        for path in self.root.iterdir():
            if path.name not in ("Agent.md", ".ship"):
                remove(path)
        for path, content in tree.items():
            make(self.root / path, content)
        for left in (self.layout.trials, self.layout.rewinds):
            shutil.rmtree(left, ignore_errors=True)
        remove(self.twin)
        subprocess.run(["cp", "-a", self.root, self.twin], check=True)
        shutil.rmtree(self.twin / ".ship", ignore_errors=True)

    async def try_out(self, script: str, *, overlay: bool) -> Picture:
        attempt = Attempt(self.sandbox, self.context, script, 20, 16_000)
        return await Trials(self.layout).run(script, self.context, attempt, can_overlay=overlay)

    def run_directly(self, script: str) -> dict[str, Entry]:
        subprocess.run(["bash", "-c", script], cwd=self.twin, capture_output=True, check=False)
        return read_tree(self.twin)


def make(path: Path, content: str | None) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_text(content)
    except OSError:
        # A file stands where this one needs a folder, or the other way round.
        return


def remove(path: Path) -> None:
    subprocess.run(["rm", "-rf", path], check=True)


def approved(context: ToolContext, picture: Picture) -> ToolContext:
    return ToolContext(
        member=captain_of(context.layout),
        thread_id=context.thread_id,
        run_id=context.run_id,
        call_id=context.call_id,
        expected=picture.target,
    )


@pytest.fixture(scope="module", params=["overlay", "copy"])
def overlay(request: pytest.FixtureRequest, twins: Twins) -> bool:
    if request.param == "overlay" and not twins.sandbox.can_overlay:
        pytest.skip("no bubblewrap here has --overlay")
    return request.param == "overlay"


@pytest.fixture(scope="module")
def twins() -> Twins:
    return Twins(Path(tempfile.mkdtemp(prefix="twins-")).resolve())


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tree=trees, script=scripts)
async def test_a_yes_does_what_the_command_does(
    twins: Twins, overlay: bool, tree: dict[str, str | None], script: str
) -> None:
    twins.clear(tree)
    before = read_tree(twins.root)
    picture = await twins.try_out(script, overlay=overlay)
    assert read_tree(twins.root) == before
    wanted = twins.run_directly(script)
    if picture.result is not None:
        assert wanted == before
        return
    trials = Trials(twins.layout)
    assert trials.picture(picture.target).target == picture.target
    trials.apply(approved(twins.context, picture))
    assert read_tree(twins.root) == wanted
    Rewinds(twins.layout).rewind(twins.context.run_id)
    assert read_tree(twins.root) == before


@settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tree=trees, script=scripts)
async def test_a_no_leaves_every_byte(
    twins: Twins, overlay: bool, tree: dict[str, str | None], script: str
) -> None:
    twins.clear(tree)
    before = read_tree(twins.root)
    picture = await twins.try_out(script, overlay=overlay)
    Trials(twins.layout).discard(picture.target)
    assert read_tree(twins.root) == before
    if picture.result is None:
        with pytest.raises(TargetChangedError):
            Trials(twins.layout).apply(approved(twins.context, picture))
    assert read_tree(twins.root) == before
