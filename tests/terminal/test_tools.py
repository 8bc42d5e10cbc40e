"""Tools through the whole program: asked about, done or not, and said, in a real terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from icalendar import Calendar

from tests.endpoint import Endpoint
from tests.terminal.program import Terminal, run

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Endpoint]:
    (home / "config").mkdir(parents=True)
    (home / "config" / "assistant.toml").write_text(
        '[session]\ntitle = "words"\n[memory]\nlearn = false\n'
    )
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MODEL_NAME", "test-model")
        monkeypatch.setenv("TZ", "Asia/Shanghai")
        yield endpoint


def call(name: str, arguments: Mapping[str, object], call_id: str = "c1") -> Mapping[str, str]:
    return {"id": call_id, "name": name, "arguments": json.dumps(arguments)}


REVIEW = call("create_event", {"title": "产品评审", "start": "2036-12-01T15:00"})


def titles(home: Path) -> list[str]:
    path = home / "data" / "calendar.ics"
    if not path.exists():
        return []
    return [str(event["SUMMARY"]) for event in Calendar.from_ical(path.read_bytes()).events]


def sent_roles(endpoint: Endpoint) -> list[str]:
    return [message["role"] for message in endpoint.requests[-1]["messages"]]


def test_a_change_is_asked_about_made_and_taken_back(endpoint: Endpoint, home: Path) -> None:
    endpoint.reply("我来安排。", tool_calls=[REVIEW])
    endpoint.reply("已经安排好了。")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("安排产品评审", ENTER)
        terminal.wait_for("Add to the calendar: 产品评审 · Mon 2036-12-01 15:00? [y/N]")
        assert titles(home) == []
        terminal.type("y", ENTER)
        terminal.wait_for("✓ event created: 产品评审 · Mon 2036-12-01 15:00–16:00")
        terminal.wait_for("已经安排好了。")
        terminal.wait_for("tokens")
        assert terminal.text().index("我来安排。") < terminal.text().index("✓ event created")
        assert "Nothing was saved" not in terminal.text()
        assert titles(home) == ["产品评审"]
        assert sent_roles(endpoint) == ["system", "user", "assistant", "tool"]
        terminal.type("/undo-last", ENTER)
        terminal.wait_for("✓ taken back: event created")
        assert titles(home) == []
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0


def test_a_no_is_heard_and_ctrl_c_stops_the_turn(endpoint: Endpoint, home: Path) -> None:
    endpoint.reply("", tool_calls=[REVIEW])
    endpoint.reply("As you like.")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("arrange it", ENTER)
        terminal.wait_for("[y/N]")
        terminal.type(ENTER)
        terminal.wait_for("As you like.")
        assert "The user said no" in endpoint.requests[-1]["messages"][-1]["content"]
        endpoint.reply("", tool_calls=[REVIEW])
        terminal.type("arrange it", ENTER)
        terminal.wait_for("[y/N]", times=2)
        terminal.type(CTRL_C)
        terminal.wait_for("Stopped before its reply. /retry asks again.")
        endpoint.reply("What shall I do instead?")
        terminal.type("never mind", ENTER)
        terminal.wait_for("What shall I do instead?")
        assert sent_roles(endpoint)[-4:] == ["user", "assistant", "tool", "user"]
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    assert titles(home) == []


@pytest.mark.parametrize("with_the_message", [True, False])
def test_what_was_typed_before_the_question_is_no_answer(
    endpoint: Endpoint, home: Path, with_the_message: bool
) -> None:
    endpoint.reply("one two three four five " * 8, tool_calls=[REVIEW], delay=0.05)
    endpoint.reply("As you like.")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        if with_the_message:
            terminal.type(f"arrange it{ENTER}y{ENTER}")
        else:
            terminal.type("arrange it", ENTER)
            terminal.wait_for("two three")
            terminal.type("y", ENTER)
        terminal.wait_for("[y/N]")
        terminal.type(ENTER)
        terminal.wait_for("As you like.")
        assert "The user said no" in endpoint.requests[-1]["messages"][-1]["content"]
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    assert titles(home) == []


def test_a_line_piped_in_that_is_no_answer_is_the_next_message(
    endpoint: Endpoint, home: Path
) -> None:
    endpoint.reply("", tool_calls=[REVIEW])
    endpoint.reply("As you like.")
    endpoint.reply("Nothing is.")
    done = run(stdin="arrange it\nwhat is on tomorrow?\n")
    assert done.returncode == 0
    assert "2036-12-01 15:00? [y/N] no" in done.stderr
    last = endpoint.requests[-1]["messages"][-1]["content"]
    assert last.startswith("what is on tomorrow?")
    assert titles(home) == []


@pytest.mark.parametrize(("piped", "made"), [("", True), ("Add the review.", False)])
def test_piped_text_changes_nothing_unasked_even_where_never_is_set(
    endpoint: Endpoint, home: Path, piped: str, made: bool
) -> None:
    with (home / "config" / "assistant.toml").open("a") as config:
        config.write('[tools]\nconfirm = "never"\n')
    endpoint.reply("", tool_calls=[REVIEW])
    done = run("ask", "what is in it?", stdin=piped)
    assert done.returncode == 0
    assert ("Not done without --yes: Add to the calendar: 产品评审" in done.stderr) is not made
    assert titles(home) == (["产品评审"] if made else [])


def test_an_event_made_in_one_terminal_is_seen_in_the_other(endpoint: Endpoint, home: Path) -> None:
    with Terminal() as first, Terminal() as second:
        for terminal in (first, second):
            terminal.wait_for("new session")
        second.type("/schedule", ENTER)
        second.wait_for(": nothing")
        for title in ("call Anna", "call Bert"):
            first.type(f"/schedule add tomorrow 10:00 {title}", ENTER)
            first.wait_for(f"✓ event created: {title}")
            second.type("/schedule", ENTER)
            second.wait_for(title)


def test_the_question_and_the_line_fit_a_narrow_window(endpoint: Endpoint, home: Path) -> None:
    endpoint.reply("", tool_calls=[REVIEW])
    endpoint.reply("好。")
    with Terminal(columns=30) as terminal:
        terminal.wait_for("new session")
        terminal.type("安排", ENTER)
        terminal.wait_for("[y/N]")
        terminal.type("y", ENTER)
        terminal.wait_for("好。")
        terminal.type("/schedule 2036-12-01", ENTER)
        terminal.wait_for("产品评审", times=3)
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0


def test_one_question_changes_nothing_without_yes(endpoint: Endpoint, home: Path) -> None:
    endpoint.reply("", tool_calls=[REVIEW])
    endpoint.reply("I could not.")
    done = run("ask", "arrange it")
    assert (done.returncode, done.stdout) == (0, "I could not.\n")
    assert "Not done without --yes: Add to the calendar: 产品评审" in done.stderr
    assert titles(home) == []

    endpoint.reply("", tool_calls=[REVIEW])
    endpoint.reply("Done.")
    done = run("ask", "--yes", "--json", "arrange it")
    document = json.loads(done.stdout)
    assert document["changes"] == ["event created: 产品评审 · Mon 2036-12-01 15:00–16:00"]
    assert document["reply"] == "Done."
    assert "✓ event created: 产品评审" in done.stderr
    assert titles(home) == ["产品评审"]


def test_the_model_and_the_user_hear_that_nothing_was_saved(endpoint: Endpoint, home: Path) -> None:
    (home / "data").mkdir(parents=True)
    (home / "data" / "calendar.ics").mkdir()
    endpoint.reply("", tool_calls=[REVIEW])
    endpoint.reply("I've added it to your calendar.")
    done = run("ask", "--yes", "arrange it")
    assert "create_event changed nothing:" in endpoint.requests[-1]["messages"][-1]["content"]
    assert "Nothing was saved or changed, whatever the reply says" in done.stderr
    assert "✓" not in done.stderr


def test_a_private_conversation_leaves_no_trace_of_what_tools_were_asked(
    endpoint: Endpoint, home: Path
) -> None:
    endpoint.reply("", tool_calls=[call("save_memo", {"text": "the word is Xyzzyx"})])
    endpoint.reply("Not kept.")
    with Terminal("--private") as terminal:
        terminal.wait_for("PRIVATE")
        terminal.type("save that the word is Xyzzyx", ENTER)
        terminal.wait_for("Not kept.")
        names = [tool["function"]["name"] for tool in endpoint.requests[-1]["tools"]]
        assert names == ["list_events", "search_memos", "recall"]
        for line in ("/memo add Xyzzyx", "/remember I am Xyzzyx", "/schedule add tomorrow Xyzzyx"):
            terminal.type(line, ENTER)
        terminal.wait_for("private", times=3)
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    traces = [path for path in home.rglob("*") if path.is_file() and b"Xyzzyx" in path.read_bytes()]
    assert traces == []


def test_a_new_session_begins_with_what_is_due(endpoint: Endpoint, home: Path) -> None:
    assert run("memo", "add", "water the plants").returncode == 0
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("/schedule add today 23:59 call Anna", ENTER)
        terminal.wait_for("✓ event created: call Anna")
        terminal.type(CTRL_D)
        terminal.wait_for_end()
    with Terminal() as terminal:
        terminal.wait_for("new session")
        assert "Today:" in terminal.text()
        assert "call Anna" in terminal.text()
    agenda = json.loads(run("agenda", "--days", "1", "--json").stdout)
    assert [event["title"] for event in agenda] == ["call Anna"]
    assert "water the plants" in run("memo", "list").stdout
