"""What models write is drawn as they meant it, and what is hostile in it stays harmless."""

from __future__ import annotations

import operator
import re
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from tests.page.test_look import violations
from tests.support.page import DESK, PHONE, OpenPage, Serving, store_thread

pytestmark = pytest.mark.browser

RICH = r"""Euler: $e^{i\pi} + 1 = 0$ and \(a_1 * b_2\), but $5 and $6, US$7/mo or US$8, and `code $x$ **b**`.

$$
\int_0^1 x^2\,dx
= \frac{1}{3}
$$

他说**“你好”**紧跟着，又说*“再见”*了。

| tide | height |
|:--|--:|
| high<br>water | 4 m |

One claim.[^1] Another.[^two]

[^1]: The first *source*.
[^two]: The second.

```mermaid
flowchart LR
  A[The old quay] -->|sail| B(The open sea) --> C[A far island] --> D[Home]
```
"""
HOSTILE = """<script>window.broken = 1</script> <img src=x onerror="window.broken=1"> <br>
[run](javascript:window.broken=1) ![pixel](https://evil.example/pixel.png) [file](/api/files/up_1)

$\\href{javascript:window.broken=1}{x}$ $\\includegraphics{https://evil.example/a.png}$

```mermaid
flowchart LR
  A["Quay <img src=https://evil.example/b.png onerror=window.broken=1>"] --> B
  click A "javascript:window.broken=1"
```
"""

# A frame that says it is ready, and draws nothing by itself.
MUTE = "<script>onmessage = ({ data }) => { window.asked = data.id }; parent.postMessage('ready')</script>"


def test_u4_maths_diagrams_footnotes_tables_and_ideograms(open_page: OpenPage, serving: Serving) -> None:
    address = store_thread(serving.folder, "rich", ["Show all", RICH])
    for dark in (False, True):
        watched = open_page(address, dark=dark, size=PHONE if dark else DESK)
        page = watched.page
        prose = page.locator(".message.assistant .prose")
        expect(prose.locator(".katex")).to_have_count(3)
        expect(prose.locator(".katex-display")).to_have_count(1)
        expect(prose).to_contain_text("but $5 and $6, US$7/mo or US$8, and code $x$ **b**.")
        expect(prose.locator("strong")).to_have_text(["“你好”"])
        expect(prose.locator("p em")).to_have_text(["“再见”"])
        expect(prose.locator("td br")).to_have_count(1)
        expect(prose.locator(".footnotes li")).to_have_count(2)
        drawing = prose.locator(".diagram img")
        expect(drawing).to_be_visible()
        size = "async (image) => { await image.decode(); return [image.naturalWidth, image.width] }"
        drawn, shown = drawing.evaluate(size)
        # On a narrow screen it is scrolled, not shrunk until nobody can read it.
        assert drawn > 500
        assert shown >= drawn * 0.74
        view = "(image) => [image.parentElement.scrollWidth, image.parentElement.clientWidth]"
        assert (operator.gt if dark else operator.eq)(*drawing.evaluate(view))
        assert violations(page) == []
        watched.shoot(f"markdown-rich-{'dark' if dark else 'light'}")
    prose.get_by_role("button", name="Footnote 2").click()
    expect(prose.locator(".footnotes li").last).to_be_focused()


def test_u4_hostile_markdown_runs_nothing_and_calls_nobody(open_page: OpenPage, serving: Serving) -> None:
    deep = "> " * 3000 + "\n" + "*" * 20_000 + "a" + "*" * 20_000
    address = store_thread(
        serving.folder, "hostile", ["Harm", HOSTILE, "Hang", deep, "Much", "*a **b [c " * 20_000]
    )
    watched = open_page(address)
    page = watched.page
    prose = page.locator(".message.assistant .prose")
    expect(prose.first).to_contain_text("<script>window.broken = 1</script>")
    expect(prose.first.locator("img:not(.diagram img)")).to_have_count(0)
    expect(prose.first.get_by_text("run", exact=True)).to_have_attribute(
        "title", "javascript:window.broken=1"
    )
    expect(prose.first.get_by_role("link", name="pixel")).to_have_attribute(
        "href", "https://evil.example/pixel.png"
    )
    drawing = prose.first.locator(".diagram img")
    expect(drawing).to_be_visible()
    assert "javascript" not in unquote(drawing.get_attribute("src") or "")
    expect(prose.nth(1)).to_contain_text("*" * 100)
    expect(prose.nth(2)).to_contain_text("[c *a **b [c")
    page.locator("#prompt").fill("still here")
    assert page.evaluate("window.broken") is None
    watched.shoot("markdown-hostile")
    # The frame draws for the page around it alone, and by itself for nobody.
    with page.expect_popup() as opened:
        page.evaluate("() => { window.open('/diagram.html') }")
    other = opened.value
    drawer = next(each for each in page.frames if each.url.endswith("/diagram.html"))
    drawer.evaluate("() => { mermaid.initialize = () => { window.isAsked = true } }")
    drawer.evaluate("() => { window.onmessage = ({ data }) => { window.isOver = data === 'over' } }")
    other.evaluate("opener.frames[0].postMessage({ id: 1, text: 'flowchart LR; A-->B' })")
    other.evaluate("opener.frames[0].postMessage('over')")
    drawer.wait_for_function("() => window.isOver")
    assert drawer.evaluate("window.isAsked") is None
    other.wait_for_load_state()
    assert other.evaluate("globalThis.mermaid") is None
    # And the page takes drawings of its frame alone, whoever else sends one.
    page.context.route("**/diagram.html", lambda route: route.fulfill(content_type="text/html", body=MUTE))
    with page.expect_event("framenavigated", lambda frame: frame.url.endswith("/diagram.html")) as framed:
        page.reload()
    drawer = framed.value
    drawer.wait_for_function("() => window.asked")
    send = "(sender) => sender.postMessage({{ id: {}, svg: '<svg>{}</svg>' }})"
    asked = drawer.evaluate("window.asked")
    page.evaluate(f"({send.format(asked, 'forged')})(window)")
    drawer.evaluate(f"({send.format(asked, 'genuine')})(parent)")
    expect(prose.first.locator(".diagram img")).to_have_attribute("src", re.compile("genuine"))
