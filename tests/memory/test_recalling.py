from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from shipmate.context.builder import ContextBuilder
from shipmate.context.request import Context, ContextRequest
from shipmate.memory.memory_passage import cut_passages
from shipmate.memory.recalling import RECALLED
from shipmate.recall.text_ranking import Ranking, terms
from shipmate.recall.vector import Vectors, load_vectors
from shipmate.workspace.config import Config
from shipmate.workspace.layout import Layout
from tests.support.prompt import write_files
from tests.support.recall_set import KINDS, make_entries, read_questions, score

LONG = "\n".join(f"- Note {number} of the harbour, about ropes and paint." for number in range(400))


def build(root: Path, text: str, user_id: str = "", platform: str = "web") -> Context:
    builder = ContextBuilder(Layout(root), Config())
    return builder.build(ContextRequest(last_text=text, user_id=user_id, platform=platform))


def recalled(context: Context) -> str:
    return next(each.text for each in context.sections if each.name == "recall")


def test_m3_what_does_not_fit_whole_is_recalled_with_its_source_and_reason(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# A", memory__INDEX="x", memory__topics__db="# Ports\n\nStaging is 5433.")
    (tmp_path / "memory/topics/db.md").write_text(f"# Ports\n\nStaging is on 5433.\n\n## Rest\n\n{LONG}")
    context = build(tmp_path, "which port has staging?")
    assert "- Ports: Staging is on 5433. (memory/topics/db.md)" in recalled(context)
    section = next(each for each in context.sections if each.name == "recall")
    assert "memory/topics/db.md (port, stag" in section.reason or "db.md (stag, port" in section.reason
    assert recalled(context).count("\n- ") <= RECALLED
    # What is recalled stands with the words of the turn: the cached prefix is the same for other words.
    assert context.lasting == build(tmp_path, "something of ropes").lasting
    assert section in context.notes
    assert recalled(build(tmp_path, "")) == ""


def test_memory_is_recalled_for_its_own_member_and_person_alone(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# A")
    layout = Layout(tmp_path)
    for key, secret in (("telegram.7", "Ann's code is mauve."), ("telegram.8", "Bo's code is ochre.")):
        path = layout.user_memory(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{secret}\n\n{LONG}")
    (tmp_path / "members/bob/memory/topics").mkdir(parents=True)
    (tmp_path / "members/bob/Agent.md").write_text("# Bob")
    (tmp_path / "members/bob/memory/topics/code.md").write_text("Bob's own code is teal.")
    found = recalled(build(tmp_path, "what is the code?", "7", "telegram"))
    assert "mauve" in found
    assert "ochre" not in found
    assert "teal" not in found
    assert "ochre" in recalled(build(tmp_path, "what is the code?", "8", "telegram"))
    assert "code" not in recalled(build(tmp_path, "what is the code?", "9", "telegram"))


def test_a_small_file_stands_in_the_prompt_whole_and_is_not_recalled(tmp_path: Path) -> None:
    write_files(tmp_path, Agent="# A", MEMORY="The code is mauve.")
    context = build(tmp_path, "what is the code?")
    assert "mauve" in context.system
    assert recalled(context) == ""


def test_entries_say_when_and_where_they_were_made() -> None:
    text = (
        "---\nmemory: 2\nentries:\n"
        '  - {heading: "Release day", date: 2026-11-16, from: "web:room:4f2a", tainted: true}\n'
        "---\n\nBefore.\n\n## Release day\n\nThursdays.\n\n```\n# no heading\n```\n\n"
        "## Tone\n\n- short\n- plain\n"
    )
    before, day, *tone = cut_passages("a.md", text)
    assert (before.heading, before.text) == ("", "Before.")
    assert str(day).startswith("Release day: Thursdays.")
    assert str(day).endswith("(a.md, 2026-11-16, web:room:4f2a, a stranger's words)")
    assert [(each.heading, each.text) for each in tone] == [("Tone", "- short"), ("Tone", "- plain")]


def _best(entries: list[str], ranking: Ranking, vectors: Vectors | None, query: str) -> list[str]:
    return [entries[each.place] for each in ranking.rank(query, vectors, 5)]


@pytest.mark.parametrize(("has_vectors", "bar"), [(True, 0.85), (False, 0.6)])
def test_the_set_is_recalled(has_vectors: bool, bar: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the questions share few words with the fact; those that share none are printed beside."""
    vectors: Vectors | None = load_vectors() if has_vectors else None
    assert (vectors is not None) == has_vectors, "the extra `recall` belongs to development"
    questions = read_questions()
    asked = [each for each in questions if each.kind in KINDS[:2]]
    assert len(asked) >= 100
    for count in (200, 2_000):
        entries = make_entries(count)
        ranking = Ranking(entries)
        best = partial(_best, entries, ranking, vectors)
        shares = score(best, questions)
        with capsys.disabled():
            told = ", ".join(f"{' '.join(key)} {share:.2f}" for key, share in sorted(shares.items()))
            print(f"\nrecall@5 of {count}, {'with' if has_vectors else 'without'} vectors: {told}")
        assert score(best, asked)["all", "all"] >= bar


def test_the_questions_are_what_they_are_said_to_be() -> None:
    """A question in few words of the fact has at most half of what tells the fact from others."""
    shared: dict[str, list[float]] = {}
    for each in read_questions():
        fact = set(terms(each.answer))
        shared.setdefault(each.kind, []).append(len(fact & set(terms(each.text))) / len(fact))
    means = [sum(shared[kind]) / len(shared[kind]) for kind in KINDS]
    assert means[0] > 0.5
    assert 0.1 < means[1] < 0.4
    assert means[2] < 0.06
