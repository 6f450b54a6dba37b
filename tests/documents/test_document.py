"""Documents as the programs of others write them, read through the tool as it ships."""

from __future__ import annotations

import sys
import zipfile
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path

import pytest

from shipmate.documents.document import DOCUMENT_LIMIT, kind_of, read_document
from shipmate.documents.pdf import Pdf
from shipmate.errors import DecodingError, ToolError
from shipmate.tools.file.read import Read
from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import captain_of
from shipmate.workspace.upload import UploadFolder

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext(
        member=captain_of(Layout(tmp_path)), thread_id="cli:local:test", run_id="run_1", call_id="call_1"
    )


async def read(context: ToolContext, name: str, data: bytes, **arguments: int) -> str:
    (context.folder / name).write_bytes(data)
    tool = Read()
    return (await tool.run(tool.parse({"path": name, **arguments}), context)).output


def make_pdf(pages: list[str]) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    file = BytesIO()
    canvas = Canvas(file)
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def make_package(kind: str, parts: dict[str, str | bytes]) -> bytes:
    """Make a document whose main part is the first."""
    main = next(iter(parts))
    relation = f'<Relationship Id="r" Type="{RELATIONS}/officeDocument" Target="{main}"/>'
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("_rels/.rels", f"<Relationships>{relation}</Relationships>")
        for name, text in parts.items():
            archive.writestr(name, text)
    assert kind_of(file.getvalue()) == kind
    return file.getvalue()


async def test_a_word_document_of_another_library(context: ToolContext) -> None:
    import docx

    made = docx.Document()
    made.add_heading("Budget 预算", 1)
    made.add_paragraph("First\tcolumn")
    made.add_paragraph("point", style="List Number")
    table = made.add_table(2, 2)
    for row, words in enumerate((("name", "sum"), ("Ann", "12"))):
        for column, word in enumerate(words):
            table.cell(row, column).text = word
    made.add_paragraph("after 𠮷 the <table>")
    file = BytesIO()
    made.save(file)
    shown = await read(context, "plan.docx", file.getvalue())
    assert shown.splitlines()[:3] == ["[plan.docx: Word document]", "# Budget 预算", "First\tcolumn"]
    assert shown.endswith("\n- point\nname | sum\nAnn | 12\nafter 𠮷 the <table>")
    rest = await read(context, "plan.docx", file.getvalue(), offset=4, limit=1)
    assert rest.splitlines()[1:] == ["name | sum", "[the document goes on: read with offset 5]"]
    # What came with a message is read in the same way, though its name says nothing.
    kept = UploadFolder(context.layout).keep(file.getvalue(), "plan.docx")
    assert kept.media_type.endswith("wordprocessingml.document")
    tool = Read()
    call = tool.parse({"path": f".ship/uploads/{kept.url.rpartition('/')[2]}"})
    assert "name | sum" in (await tool.run(call, context)).output
    assert tool.labels_for(call).reads_untrusted


async def test_a_workbook_of_another_library(context: ToolContext) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Plan"
    sheet.append(["day", "share", "sum", "", "合计"])
    sheet.append([date(2026, 3, 1), 0.125, 0.1 + 0.2, None, "a\nb"])
    sheet["B2"].number_format = "0.0%"
    sheet.append([datetime(2026, 3, 1, 13, 30), True, 1e20, time(7, 5), "=1+1"])
    hidden = book.create_sheet("Old")
    hidden.sheet_state = "hidden"
    hidden["C7"] = "far"
    file = BytesIO()
    book.save(file)
    shown = await read(context, "plan.xlsx", file.getvalue())
    assert shown.splitlines() == [
        "[plan.xlsx: workbook]",
        "[sheet Plan]",
        "1: day | share | sum |  | 合计",
        "2: 2026-03-01 | 12.5% | 0.3 |  | a b",
        "3: 2026-03-01 13:30:00 | TRUE | 1e+20 | 07:05:00",
        "[sheet Old (hidden)]",
        "7:  |  | far",
    ]


async def test_slides_of_another_library(context: ToolContext) -> None:
    import pptx

    deck = pptx.Presentation()
    for number in range(1, 4):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text = f"Title {number}"
        slide.placeholders[1].text_frame.text = f"第 {number} 页"  # pyright: ignore[reportAttributeAccessIssue]
    frame = deck.slides[1].notes_slide.notes_text_frame
    assert frame is not None
    frame.text = "say it slowly"
    # The order is that of the presentation, not of the names of its parts.
    order = deck.slides._sldIdLst  # pyright: ignore[reportPrivateUsage]
    order.insert(0, order[2])
    file = BytesIO()
    deck.save(file)
    shown = await read(context, "deck.pptx", file.getvalue())
    assert shown.splitlines() == [
        "[deck.pptx: slides, 3 slides]",
        *("[slide 1]", "Title 3", "第 3 页"),
        *("[slide 2]", "Title 1", "第 1 页"),
        *("[slide 3]", "Title 2", "第 2 页", "Notes: say it slowly"),
    ]


async def test_a_thousand_pages_are_read_from_any_place(context: ToolContext) -> None:
    data = make_pdf([f"This is page {number} of many." for number in range(1, 1001)])
    shown = await read(context, "book.pdf", data, offset=998)
    assert shown.startswith("[book.pdf: PDF, 1,000 pages]\n[page 998]\nThis is page 998 of many.")
    assert shown.endswith("[page 1000]\nThis is page 1000 of many.")
    few = await read(context, "book.pdf", data, limit=2)
    assert few.endswith("[page 2]\nThis is page 2 of many.\n[the document goes on: read with offset 3]")
    assert "nothing to read" in await read(context, "book.pdf", data, offset=1001)


async def test_what_is_encrypted_or_damaged_says_so(context: ToolContext) -> None:
    from pypdf import PdfReader, PdfWriter

    plain = make_pdf(["secret"])
    for method in ("RC4-128", "AES-256"):
        writer = PdfWriter(PdfReader(BytesIO(plain)))
        writer.encrypt("word", algorithm=method)
        file = BytesIO()
        writer.write(file)
        with pytest.raises(ToolError, match=r"a\.pdf is encrypted\. Save it without a password"):
            await read(context, "a.pdf", file.getvalue())
    storage = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504
    with pytest.raises(ToolError, match="is encrypted"):
        await read(context, "a.docx", storage + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(ToolError, match="old format"):
        await read(context, "a.doc", storage)
    with pytest.raises(ToolError, match=r"damaged"):
        await read(context, "a.pdf", b"%PDF-1.7\nnothing of the kind")
    whole = make_package(
        "docx", {"word/document.xml": "<w:document><w:p><w:t>hello</w:t></w:p></w:document>"}
    )
    assert "hello" in await read(context, "a.docx", whole)
    with pytest.raises(ToolError, match=r"a\.docx is damaged"):
        await read(context, "a.docx", whole[:-40])
    with pytest.raises(ToolError, match="larger than 30 MB"):
        await read(context, "a.pdf", b"%PDF-1.7\n" + b" " * DOCUMENT_LIMIT)
    assert "binary file" in await read(context, "a.zip", b"PK\x03\x04 an archive of other things")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(DecodingError, match=r"shipmate\[documents\]"):
        Pdf(b"%PDF-1.7", "a.pdf")


async def test_bombs_end_in_an_error_and_little_memory(context: ToolContext) -> None:
    laughs = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><d><p><t>&b;</t></p></d>'
    with pytest.raises(ToolError, match="defines entities"):
        await read(context, "a.docx", make_package("docx", {"word/document.xml": laughs}))
    outside = '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><d><p><t>&a;</t></p></d>'
    with pytest.raises(ToolError, match="defines entities"):
        await read(context, "a.docx", make_package("docx", {"word/document.xml": outside}))
    bomb = make_package("docx", {"word/document.xml": b"<d>" + b" " * 200_000_000})
    assert len(bomb) < 2_000_000
    with pytest.raises(ToolError, match="more than 200 MB when it is unpacked"):
        await read(context, "a.docx", bomb)
    endless = make_package(
        "docx", {"word/document.xml": b"<d><p><t>" + b"word " * 4_000_000 + b"</t></p></d>"}
    )
    found = await read_document(endless, "docx", "a.docx")
    assert len(found.units[0].text) <= 100_000


async def test_a_sheet_without_end_is_read_in_stretches() -> None:
    row = "<row><c><v>7</v></c><c t='inlineStr'><is><t>word</t></is></c><c r='ZZZ1'><v>1</v></c></row>"
    data = make_package(
        "xlsx",
        {
            "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="r1" '
            f'Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{row * 20_000}</sheetData></worksheet>",
        },
    )
    found = await read_document(data, "xlsx", "a.xlsx", first=15_000, room=100)
    assert found.units[0].row == 15_000
    assert found.units[0].text == "7 | word"
    assert found.following == 15_000 + len(found.units)
