from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.tools.file.diff import summary, unified
from tests.support.search import examples


def test_a_large_change_is_shown_as_one_and_fast() -> None:
    old = "".join(f"a {n}\n" for n in range(20_000))
    new = "".join(f"b {n}\n" for n in range(20_000))
    started = time.process_time()
    assert summary(f"same\n{old}end\n", f"same\n{new}end\n") == "+20000 −20000 lines"
    assert time.process_time() - started < 2


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch(1)")
@settings(max_examples=examples(30))
@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_patch_reads_what_we_show(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder: Path = tmp_path_factory.mktemp("patch")
    before, after = "".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new)
    (folder / "f").write_text(before)
    diff = unified("f", before, after)
    if before != after:
        subprocess.run(["patch", "-s", "f"], input=diff.encode(), cwd=folder, check=True)
    assert (not diff) == (before == after)
    assert ((folder / "f").read_text() if (folder / "f").exists() else "") == after
