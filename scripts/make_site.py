"""Build the documentation site from the Markdown of this repository: no script, no request to anyone.

`make docs` writes it to artefacts/site. A link, an anchor or a command that leads nowhere fails.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from scripts.check_commands import find_mistakes

ROOT = Path(__file__).parents[1]
STYLE = Path(__file__).with_name("site.css")
SITE = ROOT / "artefacts" / "site"
NAMES = {"README.md": "index.html", "README.zh-CN.md": "index.zh-CN.html"}
HERE = ' aria-current="page"'
FRAME = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'">
<title>{title} · Shipmate</title>
<link rel="stylesheet" href="{root}site.css">
<nav aria-label="Pages">
{places}
</nav>
<main>
{body}
</main>
</html>
"""


class SitePage:
    """One Markdown file as a page of the site."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(ROOT)
        self.target = self.name.with_name(NAMES.get(path.name, f"{path.stem}.html"))
        self.text = path.read_text("utf-8")
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self.tokens = self._markdown.parse(self.text)
        self.anchors: set[str] = set()
        self.title = str(self.name)
        self._name_headings()

    def _name_headings(self) -> None:
        """Give every heading the anchor that forges give it."""
        for token, words in zip(self.tokens, self.tokens[1:], strict=False):
            if token.type != "heading_open":
                continue
            said = "".join(
                each.content for each in words.children or [] if each.type in ("text", "code_inline")
            )
            plain = re.sub(r"[^\w\- ]", "", said.lower()).strip().replace(" ", "-")
            anchor, count = plain, 0
            while anchor in self.anchors:
                count += 1
                anchor = f"{plain}-{count}"
            self.anchors.add(anchor)
            token.attrSet("id", anchor)
            if token.tag == "h1":
                self.title = said

    def links(self) -> Iterator[tuple[Token, str]]:
        """Yield what leads elsewhere: the token, and the attribute that names the place."""
        for token in self.tokens:
            for child in token.children or []:
                if child.type in ("link_open", "image"):
                    yield child, "href" if child.type == "link_open" else "src"

    def render(self) -> str:
        return str(self._markdown.renderer.render(self.tokens, self._markdown.options, {}))


def read_pages() -> dict[Path, SitePage]:
    """Read every page, those of the first table of the README first."""
    order = re.findall(r"\]\((docs/[\w/.-]+\.md)", (ROOT / "README.md").read_text("utf-8"))
    first = [ROOT / "README.md", ROOT / "README.zh-CN.md", *(ROOT / name for name in order)]
    rest = [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("*.md"))]
    return {path: SitePage(path) for path in dict.fromkeys([*first, *rest])}


def lead(page: SitePage, pages: Mapping[Path, SitePage], files: set[Path]) -> list[str]:
    """Let every link lead to a page of the site or to a file laid beside it; name those that cannot."""
    broken: list[str] = []
    for token, attribute in page.links():
        link = str(token.attrGet(attribute))
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if token.type == "image":
                broken.append(f"{page.name}: the picture {link} lies elsewhere")
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        if not target.is_relative_to(ROOT):
            # The forge's own pages, which compare versions.
            continue
        found = pages.get(target / "README.md" if target.is_dir() else target)
        anchor = unquote(parts.fragment)
        if found is None and not target.is_file():
            broken.append(f"{page.name}: {link} leads nowhere")
        elif anchor and (found is None or anchor not in found.anchors):
            broken.append(f"{page.name}: {link} names no heading of that page")
        elif found is None:
            files.add(target)
        else:
            place = (
                os.path.relpath(found.target, page.target.parent) if found is not page or not anchor else ""
            )
            token.attrSet(attribute, f"{place}#{parts.fragment}" if anchor else place)
    return broken


def frame(page: SitePage, pages: Mapping[Path, SitePage]) -> str:
    """Put a page into its frame: the other pages, and the style."""
    root = "../" * (len(page.target.parts) - 1)
    places = "\n".join(
        f'<a href="{root}{each.target}"{HERE if each is page else ""}>{html.escape(each.title)}</a>'
        for each in pages.values()
        if "decisions" not in each.target.parts or each.path.name == "README.md"
    )
    language = "zh-CN" if page.path.name.endswith(".zh-CN.md") else "en"
    title = html.escape(page.title)
    return FRAME.format(language=language, title=title, root=root, places=places, body=page.render())


def build(site: Path) -> list[str]:
    """Write the site; return every mistake of the documents."""
    pages = read_pages()
    files: set[Path] = {STYLE}
    mistakes = [mistake for page in pages.values() for mistake in lead(page, pages, files)]
    mistakes += [
        f"{page.name}: {mistake}"
        for page in pages.values()
        # What was true then is not true of every command now.
        if page.path.name != "CHANGELOG.md"
        for mistake in find_mistakes(page.tokens)
    ]
    shutil.rmtree(site, ignore_errors=True)
    for page in pages.values():
        target = site / page.target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(frame(page, pages), "utf-8")
    for file in files:
        target = site / ("site.css" if file == STYLE else file.relative_to(ROOT))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return mistakes


if __name__ == "__main__":
    found = build(SITE)
    print("\n".join(found) or f"The site lies in {SITE.relative_to(ROOT)}: open index.html.")
    sys.exit(bool(found))
