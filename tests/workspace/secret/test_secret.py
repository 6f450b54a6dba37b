from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.workspace.secret.secret import MASK, Mask, secret_values
from tests.support.search import examples


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefghijklmnop.",
        "Incorrect API key provided: sk-proj-********wxyz.",
        "key AIzaSyA1234567890abcdefghij is not valid",
        "Authorization: Bearer abc.def.ghi was refused",
        "https://host/v1?key=hunter2secret&alt=sse",
    ],
)
def test_masks_what_looks_like_a_key(text: str) -> None:
    masked = Mask([])(text)
    assert MASK in masked
    for secret in ("abcdefghijklmnop", "wxyz", "AIzaSyA1234567890", "abc.def", "hunter2secret"):
        assert secret not in masked


PEM = "-----BEGIN {} PRIVATE KEY-----\nMIIB{}\n-----END {} PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"a {PEM.format('RSA', 'x' * 40, 'RSA')} b", f"a {MASK} b"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nnever closed", MASK),
        ("npm_abcdefghijklmnopqrst0123", MASK),
        ("pypi-AgEIcHlwaS5vcmcCJ", MASK),
        ("ya29.a0AfH6SMBx-abc", MASK),
        ("SG.abcdefghij_k.lmnopqrstuvw", MASK),
        ("password: x", f"password: {MASK}"),
        ('"password": "open sesame"', f'"password": "{MASK} sesame"'),
        ("DB_PASSWORD=tiger", f"DB_PASSWORD={MASK}"),
        ("access_token = abcdefgh9", f"access_token = {MASK}"),
        ("密码：芝麻开门", f"密码：{MASK}"),
        ("password: string", "password: string"),
        ('"apiKey": "${OPENAI_API_KEY}"', '"apiKey": "${OPENAI_API_KEY}"'),
        ("max_tokens: 512, tokens: 7", "max_tokens: 512, tokens: 7"),
        ("the skill skill-matches and keyboard-shortcuts", "the skill skill-matches and keyboard-shortcuts"),
    ],
)
def test_u5_shapes_that_are_secret_and_shapes_that_are_not(text: str, masked: str) -> None:
    assert Mask([])(text) == masked


@settings(max_examples=examples(100))
@given(st.text(min_size=4, max_size=30), st.text(max_size=20), st.text(max_size=20))
def test_a_known_key_never_stays(key: str, before: str, after: str) -> None:
    assert key not in Mask([key, None])(before + key + after).replace(MASK, "")


def test_leaves_ordinary_words_alone() -> None:
    text = "The model gpt-4.1 was not found; ask for a monkey or a keyboard instead."
    assert Mask([None, ""])(text) == text


def test_a_password_in_an_address_of_the_environment_is_masked_by_itself() -> None:
    mask = Mask(secret_values({"DATABASE_URL": "postgres://ann:blue-whale@db.example/x"}))
    assert mask("wrong password blue-whale for ann") == f"wrong password {MASK} for ann"


def test_a_secret_that_contains_another_goes_whole() -> None:
    assert Mask(["whale", "whale-blue"])("it was whale-blue") == f"it was {MASK}"
