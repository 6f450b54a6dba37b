from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

from shipmate.tools.file.search.search_knowledge import SearchKnowledge
from shipmate.tools.tool import ToolContext
from shipmate.tools.toolset import default_toolset
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config


async def search(tool: SearchKnowledge, context: ToolContext, query: str, count: int = 1) -> str:
    return (await tool.run(tool.parse({"query": query, "count": count}), context)).output


def fill(folder: Path) -> None:
    import docx
    import openpyxl
    from reportlab.pdfgen.canvas import Canvas

    folder.mkdir()
    (folder / "rules.md").write_text(
        "# Shore\n\nBe back by ten.\n\n# Watch\n\nFour hours on, eight hours off.\n"
    )
    (folder / "年假.md").write_text("# 休假\n\n船员每年有二十五天年假。\n")
    (folder / "x.bin").write_bytes(b"ab\0watch hours")
    canvas = Canvas(str(folder / "engine.pdf"))
    for text in ("Start the pump.", "Oil is changed every 250 hours."):
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    made = docx.Document()
    made.add_heading("Galley", 1)
    made.add_paragraph("The cook decides on Fridays.")
    made.save(str(folder / "galley.docx"))
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Ports"
    for row in (["port", "depth"], ["Bergen", 11], ["Kiel", 9]):
        sheet.append(row)
    file = BytesIO()
    book.save(file)
    (folder / "ports.xlsx").write_bytes(file.getvalue())
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")


async def test_passages_are_found_with_the_place_to_cite(root: Path, context: ToolContext) -> None:
    fill(root / "handbook")
    tool = SearchKnowledge(["handbook", "missing"])
    assert not tool.labels.reads_untrusted
    assert SearchKnowledge([".ship/uploads"]).labels.reads_untrusted
    found = await search(tool, context, "how many hours is a watch?")
    assert found.startswith("[1] handbook/rules.md, lines 5–7, Watch\n# Watch\nFour hours on")
    assert "broken.pdf is damaged" in found
    assert "missing: there is no such file" in found
    for query, place in (
        ("oil change", "[1] handbook/engine.pdf, page 2\n"),
        ("年假有几天", "[1] handbook/年假.md, lines 1–3, 休假\n"),
        ("what does the cook decide?", "[1] handbook/galley.docx, paragraphs 1–2, Galley\n"),
        ("depth at Kiel", "[1] handbook/ports.xlsx, sheet Ports, rows 1–3\n"),
    ):
        assert (await search(tool, context, query)).startswith(place), query
    (root / "handbook/rules.md").write_text("# Watch\n\nSix hours on.\n")
    changed = await search(tool, context, "watch hours", 20)
    assert "Six hours on" in changed
    assert "Four hours" not in changed
    assert (await search(tool, context, "zeppelin")).startswith("Nothing was found.")


def test_settings_and_members_name_the_folders(root: Path) -> None:
    (root / "ship.json").write_text(json.dumps({"knowledge": ["handbook"]}))
    nina = root / "members/nina"
    nina.mkdir(parents=True)
    (nina / "Agent.md").write_text("---\nknowledge: charts, tides\n---\n# Nina\n")
    loaded = load_config(Layout(root))
    members = Crew(Layout(root), loaded)
    assert members.find("nina").config.knowledge == ("charts", "tides")
    captain = members.find("captain")
    assert captain.config.knowledge == ("handbook",)
    assert "search_knowledge" in default_toolset(captain)
