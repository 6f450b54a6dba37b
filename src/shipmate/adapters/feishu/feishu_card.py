"""Render messages: words as a post, what changes or asks as a card."""

from __future__ import annotations

import re
from typing import Any

from shipmate.adapters.feishu.feishu_api import encode
from shipmate.delivery.adapter import Button, OutgoingMessage

# What calls people up; only their platform may write it, or a member could be led to call up everybody.
CALL = re.compile(r"<(?=\s*(?:/\s*)?at\b)", re.IGNORECASE)
ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def needs_card(message: OutgoingMessage) -> bool:
    """Return whether a message is one that changes often, or has buttons: a post is neither."""
    return bool(message.buttons) or message.kind in ("preview", "question")


def make_post(text: str, *, image_key: str = "", is_plain: bool = False) -> str:
    """Return the content of a post."""
    words = {"tag": "text", "text": _clean(text)} if is_plain else {"tag": "md", "text": _mark(text)}
    lines = [[{"tag": "img", "image_key": image_key}]] if image_key else []
    return encode({"zh_cn": {"content": [*lines, *([[words]] if text else [])]}}).decode()


def make_card(message: OutgoingMessage, *, is_plain: bool = False) -> str:
    """Return the content of a card."""
    words: dict[str, Any] = {"tag": "markdown", "content": _mark(message.text)}
    if is_plain:
        words = {"tag": "div", "text": {"tag": "plain_text", "content": _clean(message.text)}}
    rows = [
        {
            "tag": "column_set",
            "flex_mode": "flow",
            "columns": [
                {"tag": "column", "width": "auto", "elements": [_make_button(each, message, place)]}
                for place, each in enumerate(row)
            ],
        }
        for row in message.buttons
    ]
    card = {"schema": "2.0", "config": {"update_multi": True}, "body": {"elements": [words, *rows]}}
    return encode(card).decode()


def _make_button(button: Button, message: OutgoingMessage, place: int) -> dict[str, Any]:
    # Where it was asked goes along: a click tells the chat, but neither its kind nor its topic.
    value = {"data": button.data, "thread": str(message.thread_id)}
    return {
        "tag": "button",
        "text": {"tag": "plain_text", "content": button.label},
        "type": "default" if place else "primary",
        "behaviors": [{"type": "callback", "value": value}],
    }


def _clean(text: str) -> str:
    return ODD.sub("", text)


def _mark(text: str) -> str:
    return CALL.sub("&lt;", _clean(text))
