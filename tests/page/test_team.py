"""A team on the page: people are taken in, sign in, see what is theirs, make tokens, and leave."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.support.page import DESK, OpenPage, Serving, Watched

PASSWORD = "correct horse battery"


def test_a_team_is_made_signs_in_and_sees_its_own(
    open_page: OpenPage, browser: Browser, serving: Serving
) -> None:
    owner = open_page("#/team")
    page = owner.page
    expect(page.get_by_text("Nobody yet.")).to_be_visible()
    for name, role in (("anna", "member"), ("gil", "guest")):
        page.get_by_label("Name to sign in as").fill(name)
        page.locator("form select").select_option(role)
        page.get_by_label("Password (10").fill(PASSWORD)
        page.get_by_role("button", name="Take somebody in").click()
        expect(page.get_by_label(f"Role: {name}")).to_have_value(role)
    expect(page.get_by_role("link", name="Team")).to_be_visible()
    owner.shoot("team-owner")

    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    anna = Watched(context.new_page(), serving.address)
    page = anna.page
    page.goto(serving.address)
    page.get_by_label("Name").fill("anna")
    anna.shoot("team-sign-in")
    page.get_by_label("Password").fill("wrong password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("Name or password is wrong.")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("link", name="Threads")).to_be_visible()
    expect(page.get_by_role("link", name="Audit")).to_have_count(0)
    page.get_by_role("textbox").last.fill("write a haiku about the tide")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="write a haiku about the tide")).to_be_visible()
    page.get_by_role("button", name="More", exact=False).last.click()
    page.get_by_role("menuitem", name="Share …").click()
    page.get_by_label("Shared with").fill("gil")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".bar").get_by_text("shared", exact=True)).to_be_visible()
    anna.shoot("team-member")

    page.goto(f"{serving.address}/#/team")
    page.get_by_label("What it is for").fill("ci")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_text("shm.anna.")).to_be_visible()
    expect(page.get_by_text("People", exact=True)).to_have_count(0)
    anna.shoot("team-you")
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Threads")).to_have_count(0)

    page.evaluate("localStorage.setItem('shipmate.language', 'zh')")
    page.goto(serving.address)
    page.reload()
    page.get_by_label("用户名").fill("gil")
    page.get_by_label("密码").fill(PASSWORD)
    page.get_by_role("button", name="登录", exact=True).click()
    expect(page.get_by_text("write a haiku about the tide").first).to_be_visible()
    page.goto(f"{serving.address}/#/team")
    expect(page.get_by_text("访客").first).to_be_visible()
    anna.shoot("team-guest-zh")
    context.close()
    page = owner.page
    page.reload()
    page.get_by_role("listitem").filter(has_text="gil").get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_label("Role: gil")).to_have_count(0)
