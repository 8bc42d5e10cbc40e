"""Values in text: what is found, what isn't, and which spellings are the same."""

from __future__ import annotations

import pytest

from assistant.memory.compaction.values import (
    ValueKind,
    code_pattern,
    find_values,
    key_of,
    numbers_in,
)


def found(text: str) -> list[tuple[str, str]]:
    return [(value.kind, text[value.start : value.end]) for value in find_values(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("the gate code is PX-4471.", [("code", "PX-4471")]),
        ("订单号是PX-4471，电话13812345678", [("code", "PX-4471"), ("code", "13812345678")]),
        ("order 88412093, room 402, gate B42", [
            ("code", "88412093"), ("code", "402"), ("code", "B42"),
        ]),
        ("the wifi password is Tulip-Harbor and the pin is 4821", [
            ("code", "Tulip-Harbor"), ("code", "4821"),
        ]),
        ("The password is sunshine.", [("code", "sunshine")]),
        ("wifi密码 qwer7788，车牌沪A·88F21", [("code", "qwer7788"), ("code", "沪A·88F21")]),
        ("call +49 30 901820 about LH 1234", [("code", "+49 30 901820"), ("code", "LH 1234")]),
        ("the safe combination is 24-17-33", [("code", "24-17-33")]),
        ("on March 4, 2026 at 4:30 pm", [("date", "March 4, 2026"), ("time", "4:30 pm")]),
        ("the 21st of June, 04/17/2026, 09.08.2019", [
            ("date", "21st of June"), ("date", "04/17/2026"), ("date", "09.08.2019"),
        ]),
        ("三月四日下午三点半，2026年5月", [
            ("date", "三月四日"), ("time", "下午三点半"), ("date", "2026年5月"),
        ]),
        ("every second Thursday, due Dec. 2027", [
            ("date", "every second Thursday"), ("date", "Dec. 2027"),
        ]),
        ("half past four, noon, 15:30", [
            ("time", "half past four"), ("time", "noon"), ("time", "15:30"),
        ]),
        ("rent is ¥12,800 and the fee 1.28万元", [("amount", "¥12,800"), ("amount", "1.28万元")]),
        ("the budget is 9,000 and they quoted 3,450", [("amount", "9,000"), ("amount", "3,450")]),
        ("two hundred bucks, 1.250,00 €, 工资涨到一万五了", [
            ("amount", "two hundred bucks"), ("amount", "1.250,00 €"), ("amount", "一万五"),
        ]),
        ("I weigh 72.5 kg", [("number", "72.5 kg")]),
        ("see https://a.b/c?d=1, or mail jo@ex.com", [
            ("link", "https://a.b/c?d=1"), ("link", "jo@ex.com"),
        ]),
        ("it is in ~/docs/plan.pdf", [("link", "~/docs/plan.pdf")]),
        ("预算１２，８００元，１５：３０开会", [
            ("amount", "１２，８００元"), ("time", "１５：３０"),
        ]),
    ],
)  # fmt: skip
def test_what_is_found(text: str, values: list[tuple[str, str]]) -> None:
    assert found(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "I ran 5 minutes, two of them uphill",
        "a 24-hour thing, GPT-4 and COVID-19 and MP3 in the 1990s",
        "you may 5 times, and march on",
        "a 16:9 screen",
        "order 12 pizzas",
        "the password is wrong",
        "我每周三次去健身房，我有三点建议，一点都不难",
        "三块蛋糕",
        "",
        "🙂\x00",
    ],
)
def test_what_is_no_value(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("kind", "spellings"),
    [
        ("amount", ["12,800", "12800", "1.28万", "12.8k", "¥12,800"]),
        ("amount", ["１２，８００元", "一万二千八百元"]),
        ("amount", ["3500", "三千五百元", "三千五", "3,500.00"]),
        ("amount", ["250 dollars", "two hundred and fifty dollars", "$250"]),
        ("date", ["March 4", "4 March", "Mar. 4", "4th of March"]),
        ("date", ["March 4", "3月4日", "三月四号", "2026-03-04"]),
        ("date", ["Friday", "周五", "星期五"]),
        ("time", ["4:30 pm", "16:30", "下午四点半", "half past 4", "4.30pm"]),
        ("code", ["PX-4471", "px 4471", "PX4471"]),
    ],
)  # fmt: skip
def test_spellings_of_one_value_are_the_same(kind: ValueKind, spellings: list[str]) -> None:
    first = key_of(kind, spellings[0])
    assert [one for one in spellings if not key_of(kind, one).is_same(first)] == []


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("amount", "12,800", "1,280"),
        ("amount", "$500", "€500"),
        ("date", "March 4", "April 3"),
        ("date", "2026-03-04", "2027-03-04"),
        ("time", "4am", "4pm"),
        ("time", "4pm", "4:30 pm"),
        ("code", "PX-4471", "PX-4472"),
    ],
)
def test_different_values_are_not_the_same(kind: ValueKind, one: str, other: str) -> None:
    assert not key_of(kind, one).is_same(key_of(kind, other))


def test_a_code_is_not_found_within_a_longer_one() -> None:
    pattern = code_pattern("PX-4471")
    assert pattern.search("is px 4471, isn't it")
    assert pattern.search("密码是PX-4471。")
    assert not pattern.search("PX-44712")
    assert not pattern.search("APX-4471")


def test_numbers_without_a_unit_are_read_too() -> None:
    text = "about 1.2万 or 12000"
    assert [(at, key.word) for at, key in numbers_in(text)] == [(6, "12000"), (14, "12000")]
