"""A member proposes a task: the question shows the file and its next times."""

from __future__ import annotations

import msgspec
import pytest

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.file.propose_task import ProposeTask
from shipmate.tools.tool import ToolContext

ARGUMENTS = {"title": "Water the plants", "when": "0 8 * * 1-5", "prompt": "Remind everybody.\n---\nReally."}


async def test_a_proposal_shows_its_file_and_times_and_is_written_once(context: ToolContext) -> None:
    tool = ProposeTask()
    arguments = tool.parse(ARGUMENTS)
    picture = await tool.picture(arguments, context)
    assert picture.text is not None
    assert ".ship/tasks/water-the-plants.md" in picture.text
    assert "when: " in picture.text
    assert picture.text.count("08:00") == 3
    assert context.thread_id in picture.text
    agreed = msgspec.structs.replace(context, expected=picture.target)
    result = await tool.run(arguments, agreed)
    path = context.layout.tasks / "water-the-plants.md"
    assert "Made: .ship/tasks/water-the-plants.md" in result.output
    assert path.read_text() in picture.text + "\n" or path.read_text().strip() in picture.text
    assert path.stat().st_mode & 0o777 == 0o600
    # What was agreed to holds for one file: the next would be another.
    with pytest.raises(TargetChangedError):
        await tool.run(arguments, agreed)
    assert [each.name for each in context.layout.tasks.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"when": "0 0 31 2 *"}, "never comes"),
        ({"when": ""}, "no `when`"),
        ({"prompt": " "}, "nothing to do"),
        ({"when": "@daily", "prompt": "x" * 100}, ""),
    ],
)
async def test_a_task_that_could_not_be_read_is_refused(
    context: ToolContext, change: dict[str, str], said: str
) -> None:
    tool = ProposeTask()
    arguments = tool.parse(ARGUMENTS | change)
    if not said:
        assert (await tool.picture(arguments, context)).text
        return
    with pytest.raises(ToolError, match=said):
        await tool.picture(arguments, context)
    assert not context.layout.tasks.exists()
