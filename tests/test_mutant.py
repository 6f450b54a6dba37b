"""The mutants of the source are changes of lines that are still there."""

from __future__ import annotations

import pytest

from tests.mutant import MUTANTS, ROOT, SOURCE, Mutant, change


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_h4_a_mutant_changes_one_line_of_today(mutant: Mutant) -> None:
    text = (SOURCE / mutant.file).read_text("utf-8")
    assert change(text, mutant) != text
    assert (ROOT / "tests" / mutant.tests).is_file()
