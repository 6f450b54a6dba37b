"""Choose a model on the page: in the settings for good, in a thread's menu for that thread."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.support.page import PHONE, ROOT, OpenPage, Serving

KEY = "sk-pasted-0123456789"


@pytest.fixture
def provider() -> Iterator[str]:
    """Run a provider that lists two models; its address."""
    command = [sys.executable, "-m", "tests.support.provider_server", "--models", "small,large"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        process.terminate()


def test_5_a_model_is_listed_tested_and_kept(open_page: OpenPage, serving: Serving, provider: str) -> None:
    page = (watched := open_page("#/settings")).page
    page.get_by_label("Provider").select_option("vllm")
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_label("Address").fill(provider)
    page.get_by_role("button", name="List the models").click()
    expect(page.locator(".key-test .note.good")).to_contain_text("2 models")
    page.get_by_label("Model", exact=True).fill("small")
    watched.shoot("model-listed")
    page.get_by_role("button", name="Test and use it").click()
    expect(page.locator(".key-test .note.good").last).to_contain_text("ship.json")
    expect(page.locator(".block strong.mono").first).to_have_text("vllm:small")
    expect(page.get_by_label("Key", exact=True)).to_have_value("")
    watched.shoot("model-kept")
    assert json.loads((serving.folder / "ship.json").read_text())["llm"]["model"] == "small"
    assert KEY in (serving.folder / ".env").read_text()
    assert KEY not in page.content()


def test_5_the_settings_fit_a_phone_in_chinese(open_page: OpenPage, serving: Serving, provider: str) -> None:
    page = (watched := open_page("#/settings", size=PHONE, language="zh")).page
    page.get_by_label("服务商").select_option("vllm")
    page.get_by_label("地址").fill(provider)
    page.get_by_label("模型", exact=True).fill("small")
    page.get_by_role("button", name="测试密钥").click()
    expect(page.locator(".key-test .note.good")).to_contain_text("vllm:small")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    watched.shoot("model-phone-zh")


def test_5_a_thread_is_switched_from_its_menu(open_page: OpenPage, serving: Serving, provider: str) -> None:
    llm = {"provider": "vllm", "model": "small", "baseUrl": provider}
    (serving.folder / "ship.json").write_text(json.dumps({"llm": llm}))
    page = (watched := open_page()).page
    page.get_by_role("textbox").first.fill("hello")
    page.keyboard.press("Enter")
    expect(page.locator(".message.assistant")).to_contain_text("You said")
    page.get_by_role("button", name="More").first.click()
    page.get_by_role("menuitem", name="Model of this thread").click()
    page.get_by_label("Model", exact=True).fill("large")
    watched.shoot("model-thread")
    page.get_by_role("button", name="Use it here").click()
    expect(page.locator(".bar-sub .badge.mono")).to_have_text("vllm:large")
    page.get_by_role("textbox").first.fill("and now")
    page.keyboard.press("Enter")
    expect(page.locator(".message.assistant")).to_have_count(2)
    expect(page.locator(".message.assistant").last).to_contain_text("vllm:large")
    watched.shoot("model-answered")
