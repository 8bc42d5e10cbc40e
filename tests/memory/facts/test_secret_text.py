"""Secrets are known by their form or their name; what only looks like one is kept."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import WrongEntry
from assistant.memory.facts.secret_text import require_no_secret, secret_in


@pytest.mark.parametrize(
    "text",
    [
        "my key is sk-abcdEFGH1234567890abcdEFGH",
        "sk-proj-abcdEFGH12345_67890-abcdEFGH",
        "token ghp_" + "a1B2" * 9,
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefABCDEF",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "my card is 4111 1111 1111 1111",
        "card 5500-0000-0000-0004",
        "银行卡号4111111111111111",
        "My password is hunter2",
        "my wifi password is now Sunflower9",
        "password: hunter2",
        "The PIN of my card is 4821",
        "my pin is 4821",
        "我的密码是abc123",
        "密码：hunter2",
        "WiFi密码改成了sunny88",
        "my pin's 4711",
        "my p\u200bin is 4711",
        "ｍｙ ｐｉｎ ｉｓ ４７１１",
        "my pin is four seven one one",
        "pin 4711",
        "remember that 4711 is my pin",
        "password hunter2",
        "hunter2 is my password",
        "pw: hunter2",
        "my password was changed to hunter2",
        "my wifi password is guest",
        "the password of the router: a b c",
        "my door code is 4711",
        "my recovery phrase is apple banana",
        "密码 abc123",
        "我的密码hunter2",
        "支付密码123456",
        "验证码 889231",
        "pin码4711",
        "I use the key AC0123456789abcdef0123456789 at work",
        "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
        "hf_abcdefghijklmnopqrstuvwxyz12",
    ],
)
def test_a_secret_is_refused(text: str) -> None:
    with pytest.raises(WrongEntry, match="Nothing was kept") as caught:
        require_no_secret(text)
    assert caught.value.field == "text"


@pytest.mark.parametrize(
    "text",
    [
        "My IBAN is DE89 3704 0044 0532 0130 00",
        "My IBAN is GB29NWBK60161331926819",
        "My phone number is +49 170 1234 5678",
        "My phone number is 4111 1111 1111 1111",
        "Order 4111 1111 1111 1112",
        "My password manager is Bitwarden",
        "Never ask me for my password",
        "My password is in the safe",
        "The gym code is 4411",
        "我的密码在保险柜里",
        "I live at 4 Pine Street",
        "My passport is valid until 2030",
        "I like sk-ateboarding",
        "My project is called sk-learn-introduction-to-everything",
        "Passcode changes are annoying",
        "A password reset is annoying",
        "I have a pin in my leg, it is titanium",
        "My bowling pin is red",
        "I collect pin badges",
        "My PIN is easy to remember",
        "My secret key to success is patience",
        "密码是我自己记的",
        "我的密码都是用管理器保存的",
        "密码学是我的专业",
        "I keep my keys in a drawer",
        "My area code is 0221",
    ],
)
def test_what_only_looks_like_a_secret_is_kept(text: str) -> None:
    require_no_secret(text)


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    secret_in(text)


@pytest.mark.parametrize(
    "piece", ["password ", "pin of ", "密码", "a1", "4", "sk-", "1 ", "key a-"]
)
def test_a_long_text_is_looked_through_quickly(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    started = time.perf_counter()
    secret_in(text)
    assert time.perf_counter() - started < 2
