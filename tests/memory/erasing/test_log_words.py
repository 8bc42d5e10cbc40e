"""Words in a log: in every field of every record, however they are written there."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from assistant.memory.erasing.log_lines import log_lines
from assistant.memory.erasing.log_words import Finding, Phrase, found_in, unescaped
from assistant.memory.session_log import (
    FailureRecord,
    Record,
    RewindRecord,
    SessionRecord,
    TitleRecord,
    encode,
)
from assistant.messages import (
    ImagePart,
    ImageUrl,
    KeptItem,
    Message,
    Summary,
    TextPart,
    ToolCall,
    folded,
)
from assistant.protocols import Match

NOW = datetime(2026, 3, 4, tzinfo=UTC)


def message(role: str = "user", content: object = "", **fields: object) -> Message:
    return msgspec.convert(
        {"type": "message", "role": role, "content": content, "id": 7, "turn": 3, **fields}, Message
    )


def call(arguments: str, extra: str = "") -> ToolCall:
    return ToolCall("c1", "look", arguments, extra)


def found(data: bytes, words: str) -> list[Finding]:
    """What is found, and by a first look not passed over."""
    phrase = Phrase(words)
    findings = list(found_in("s1", data, phrase))
    assert phrase.may_be_in(data) or not findings
    return findings


PARTS = (TextPart("see this"), ImagePart(ImageUrl("https://x.org/nut.png")))
KEPT = KeptItem("code", "PX-44", "the code PX-44", 1, "user", replaces="QQ-12")

BY_TURN = {"turn": 3}


@pytest.mark.parametrize(
    ("record", "words", "kind", "named"),
    [
        pytest.param(message(content="Anna hates nuts"), "ANNA  hates", "message", BY_TURN),
        pytest.param(message(content="a line\nand a\tnext"), "line and a next", "message",
                     BY_TURN, id="spacing"),
        pytest.param(message(content="Straße"), "STRASSE", "message", BY_TURN, id="case"),
        pytest.param(message(content="cafe\u0301"), "caf\u00e9", "message", BY_TURN, id="NFC"),
        pytest.param(message(content="我喜欢四川火锅"), "四川", "message", BY_TURN),
        pytest.param(message(content='the "it" a\\b'), 'THE "it" a\\b', "message", BY_TURN,
                     id="escaped"),
        pytest.param(message(content="bell \x07 rings"), "\x07 rings", "message", BY_TURN,
                     id="control"),
        pytest.param(message(content=PARTS), "nut.png", "message", BY_TURN, id="image"),
        pytest.param(message("assistant", "Noted: nuts"), "nuts", "message", BY_TURN),
        pytest.param(message("tool", "cut", whole="all nuts"), "nuts", "tool result", BY_TURN),
        pytest.param(message("tool", "ok", changed="Saved nuts"), "nuts", "tool result",
                     BY_TURN),
        pytest.param(message("assistant", tool_calls=[call('{"q":"nuts"}')]), "nuts", "message",
                     BY_TURN, id="arguments"),
        pytest.param(message("assistant", tool_calls=[call('{"q":["\\u5f20\\u4f1f"]}')]), "张伟",
                     "message", BY_TURN, id="arguments in ASCII"),
        pytest.param(message("assistant", tool_calls=[call('{"q":"\\u5f20\\u4f1f')]), "张伟",
                     "message", BY_TURN, id="broken arguments in ASCII"),
        pytest.param(message("assistant", tool_calls=[call('{"p":"a\\\\b"}')]), "a\\b", "message",
                     BY_TURN, id="arguments with a backslash"),
        pytest.param(message("assistant", tool_calls=[call("{}", '{"note":"nuts"}')]), "nuts",
                     "message", BY_TURN, id="beside a call"),
        pytest.param(message("assistant", "nuts?", tool_calls=[call("{}")]), "nuts", "message",
                     BY_TURN, id="text beside a call"),
        pytest.param(message(content="nuts", id=0), "nuts", "message", BY_TURN, id="no id"),
        pytest.param(TitleRecord("Of nuts", NOW), "nuts", "title", {"title": True}),
        pytest.param(FailureRecord(3, "No nuts", NOW), "nuts", "failure", None),
        pytest.param(Summary("Of nuts", (1, 2), NOW), "nuts", "summary", None),
        pytest.param(Summary("x", (1, 2), NOW, instructions="nuts"), "nuts", "summary", None),
        pytest.param(Summary("x", (1, 2), NOW, kept=(KEPT,)), "px-44", "summary", None),
        pytest.param(Summary("x", (1, 2), NOW, watched=(KEPT,)), "qq-12", "summary", None),
    ],
)  # fmt: skip
def test_words_are_found_in_every_field(
    record: Record, words: str, kind: str, named: dict[str, object] | None
) -> None:
    data = encode(SessionRecord("s1", NOW)) + encode(record)
    (finding,) = found(data, words)
    assert (finding.match.kind, finding.session) == (kind, "s1")
    assert folded(words) in folded(finding.match.text)
    assert finding == Finding(
        finding.match,
        "s1",
        **(named or {"line": log_lines(data)[1].digest}),  # type: ignore[arg-type]
    )
    assert found(data, "walnuts") == []


def test_a_message_is_called_by_session_turn_and_id() -> None:
    (finding,) = found(encode(message(content="Anna")), "anna")
    assert finding.match == Match("message", "s1.3.7", "Anna")


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"message","content":"Zhang Wei \xe5\xbc\xa0\xe4\xbc\x9f',
        b'{"type":"message","content":"Zhang Wei \\u5f20\\u4f1f',
        b'{"x":"{\\"q\\":\\"Zhang\\\\nWei \\\\u5f20\\\\u4f1f\\"}"}',
        b"\xff Zhang Wei \xe5\xbc\xa0\xe4\xbc\x9f \xfe",
    ],
)
def test_words_are_found_in_lines_that_can_not_be_read(line: bytes) -> None:
    data = encode(message(content="x")) + line + b"\n"
    for words in ("张伟", "zhang wei"):
        (finding,) = found(data, words)
        assert finding.match.kind == "unreadable line"
        assert finding.line == log_lines(line)[0].digest


@pytest.mark.parametrize(
    "record",
    [
        RewindRecord(1, NOW),
        SessionRecord("nuts", NOW),
        message(content=(ImagePart(ImageUrl("data:image/png;base64,nuts")),)),
    ],
)
def test_what_is_no_text_is_not_looked_at(record: Record) -> None:
    assert found(encode(record), "nuts") == []


def test_most_logs_need_not_be_read_line_by_line() -> None:
    data = encode(message(content="Anna hates nuts"))
    assert not Phrase("anna hates walnuts").may_be_in(data)
    assert Phrase("hates Anna").may_be_in(data)
    assert Phrase('"').may_be_in(data)
    other = encode(message(content="喜欢 café"))
    assert not Phrase("cafe").may_be_in(other)
    assert Phrase("CAFÉ 喜欢").may_be_in(other)


def test_no_sign_that_is_folded_to_another_is_passed_over() -> None:
    """A first look compares bytes: each sign that folds to a letter of the words must tell."""
    for sign in map(chr, range(0x80, 0x110000)):
        if "\ud800" <= sign <= "\udfff" or folded(sign) == sign:
            continue
        data = encode(message(content=sign))
        assert all(Phrase(letter).may_be_in_line(data) for letter in folded(sign)), ascii(sign)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\\u5f20", "张"),
        ("\\\\u5f20", "张"),
        ("\\ud83d\\ude00", "😀"),
        ("\\ud83d", "\ufffd"),
        ('a\\nb\\"c\\/d', 'a b"c/d'),
    ],
)
def test_escapes_are_read(text: str, plain: str) -> None:
    assert unescaped(text) == plain


@pytest.mark.parametrize(
    "said", ["0470558821", "0470-55-88-21", "+32 470 558 821", "(0470) 558821"]
)
def test_a_number_is_found_in_a_log_however_it_is_grouped(said: str) -> None:
    data = encode(Message("user", f"Call {said} now", id=1, turn=1))
    assert [one.turn for one in found_in("s1", data, Phrase("0470 558 821"))] == [1]
    assert not list(found_in("s1", data, Phrase("0470 558 822")))
