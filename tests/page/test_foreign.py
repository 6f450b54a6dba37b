"""Serve a folder of another program as it is: members are shown, nothing outside `.ship/` changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.foreign import copy_folder, take_picture
from tests.support.page import ARTEFACTS, DESK, Serving, Watched, log_in, say, settle

pytestmark = pytest.mark.browser

# Each program with the folder to serve, who is there, and the keys that stand in the clear in its settings.
CASES = {
    "claude-code": ("", ("captain", "reviewer"), ("not-a-real-token", "not-a-real-key", "not-a-real-deploy")),
    "nanobot": ("workspace", ("captain",), ()),
    "zyhive": ("", ("captain", "yinyin"), ()),
}


@pytest.mark.parametrize("program", CASES)
def test_m1_a_folder_of_another_program_is_served_as_it_is(
    tmp_path: Path, browser: Browser, program: str
) -> None:
    inner, members, keys = CASES[program]
    home = copy_folder(program, tmp_path / "home")
    before = take_picture(home)
    serving = Serving(home / inner if inner else home)
    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    try:
        serving.start()
        log_in(context, serving)
        watched = Watched(context.new_page(), serving.address)
        page = watched.page
        page.goto(serving.address)
        say(page, "list files")
        expect(page.get_by_role("button", name="Answer again")).to_be_visible()
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"foreign-{program}-chat.png")
        listed = page.request.get(f"{serving.address}/api/members").json()["members"]
        assert tuple(each["id"] for each in listed) == members
        shown = [page.content()]
        for name in ("members", "skills", "settings"):
            page.goto(f"{serving.address}/#/{name}")
            settle(page)
            expect(page.locator("main")).not_to_be_empty()
            page.screenshot(path=ARTEFACTS / f"foreign-{program}-{name}.png")
            shown.append(page.content())
            if name == "members":
                for each in listed:
                    expect(page.locator("main")).to_contain_text(each["name"])
        shown += [
            page.request.get(f"{serving.address}/api/{name}").text() for name in ("settings", "context")
        ]
        assert [key for key in keys if any(key in text for text in shown)] == []
        assert watched.troubles() == []
    finally:
        context.close()
        serving.leave()
    assert take_picture(home) == before
