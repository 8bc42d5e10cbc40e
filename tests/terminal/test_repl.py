"""The conversation in a real pseudo-terminal, against a real endpoint."""

from __future__ import annotations

import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.terminal.line_editor import fit_parts, is_yes
from tests.endpoint import Endpoint
from tests.terminal.program import COMMAND, Terminal, run

ENTER, CTRL_C, CTRL_D, ALT_ENTER = "\r", "\x03", "\x04", "\x1b\r"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Endpoint]:
    # Titles by the model would be requests of their own between those looked at here.
    (home / "config").mkdir(parents=True)
    (home / "config" / "assistant.toml").write_text('[session]\ntitle = "words"\n')
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MODEL_NAME", "test-model")
        yield endpoint


def last_sent(endpoint: Endpoint) -> str:
    content: str = endpoint.requests[-1]["messages"][-1]["content"]
    return content.partition("\n\n[Background")[0]


def resume_id(terminal: Terminal) -> str:
    return terminal.text().rpartition("--session ")[2].split()[0]


def test_talk_leave_and_resume(endpoint: Endpoint) -> None:
    endpoint.reply("好的，**宫保鸡丁**！")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("我们做宫保鸡丁吧", ENTER)
        terminal.wait_for("好的，宫保鸡丁！")
        terminal.wait_for("tokens")
        assert terminal.last_line().startswith("我们做宫保鸡丁吧 · ")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
        assert terminal.text().count("好的，宫保鸡丁！") == 1
        session_id = resume_id(terminal)
    endpoint.reply("鸡肉和花生")
    with Terminal("--session", session_id[:16]) as terminal:
        terminal.wait_for("Going on with “我们做宫保鸡丁吧” (1 turn)")
        terminal.wait_for("Last said")
        terminal.type("我需要哪些材料？", ENTER)
        terminal.wait_for("鸡肉和花生")
        terminal.type("/exit", ENTER)
        assert terminal.wait_for_end() == 0
    texts = [message["content"] for message in endpoint.requests[-1]["messages"]]
    assert texts[1:3] == ["我们做宫保鸡丁吧", "好的，**宫保鸡丁**！"]


def test_several_lines_are_one_message(endpoint: Endpoint) -> None:
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("one", ALT_ENTER, "two\\", ENTER, "three", ENTER)
        terminal.wait_for("You said")
        assert last_sent(endpoint) == "one\ntwo\nthree"
        terminal.type("\x1b[200~pasted 1\npasted 2\n\npasted 4\x1b[201~", ENTER)
        terminal.wait_for("pasted 4", times=2)
        assert last_sent(endpoint) == "pasted 1\npasted 2\n\npasted 4"


def test_ctrl_c_stops_a_reply_and_keeps_the_part(endpoint: Endpoint) -> None:
    endpoint.reply("one two three four five " * 50, delay=0.05)
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("count", ENTER)
        terminal.wait_for("three four")
        terminal.type(CTRL_C)
        terminal.wait_for("(stopped here)")
        endpoint.reply("Yes, on we go.")
        terminal.type("go on", ENTER)
        terminal.wait_for("Yes, on we go.")
    kept = endpoint.requests[-1]["messages"][2]["content"]
    assert kept.startswith("one two three four")
    assert len(kept) < 1_000


def test_ctrl_c_on_nothing_says_how_to_leave_and_on_text_clears_it(endpoint: Endpoint) -> None:
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type(CTRL_C)
        terminal.wait_for("To leave: Ctrl-D, or /exit.")
        terminal.type("never sent", CTRL_C, "sent", ENTER)
        terminal.wait_for("You said")
        assert last_sent(endpoint) == "sent"


def test_commands_are_completed_and_history_is_searched(endpoint: Endpoint) -> None:
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("the first message", ENTER)
        terminal.wait_for("You said")
        terminal.type("/ses")
        terminal.wait_for("List, start, switch")
        terminal.type("\t")
        terminal.type(" inf", "\t", ENTER)
        terminal.wait_for("Turns: 1, messages: 2")
        terminal.type("\x12first", ENTER, ENTER)
        terminal.wait_for("You said", times=2)
        assert last_sent(endpoint) == "the first message"


def test_private_says_so_and_leaves_nothing(endpoint: Endpoint, home: Path) -> None:
    with Terminal("--private") as terminal:
        terminal.wait_for("private: nothing of this is kept")
        terminal.wait_for("PRIVATE")
        terminal.type("my secret", ENTER)
        terminal.wait_for("You said")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
        assert "--session" not in terminal.text()
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert kept == [home / "config" / "assistant.toml"]


def test_two_terminals_one_session(endpoint: Endpoint) -> None:
    run("ask", "the start")
    with Terminal("--session", "the start") as first:
        first.wait_for("Going on with")
        refused = run("ask", "--session", "the start", "too")
        assert refused.returncode == 4
        assert "open in another terminal" in refused.stderr
        with Terminal("--session", "the start") as second:
            second.wait_for("[c]opy it and go on there")
            second.type("r", ENTER)
            second.wait_for("Reading “the start” (1 turn)")
            second.wait_for("READING ONLY")
            second.type("hello", ENTER)
            second.wait_for("open for reading only")
        with Terminal("--session", "the start") as third:
            third.wait_for("[c]opy it and go on there")
            third.type("c", ENTER)
            third.wait_for("Going on with")
            third.type("in the copy", ENTER)
            third.wait_for("You said: ", times=2)
        # Beside those of the start, a session that was left is looked at for facts.
        talked = [body for body in endpoint.requests if "tools" in body]
        assert len(talked) == 2


def test_continue_is_this_terminal_s_last_session(endpoint: Endpoint) -> None:
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("from the window", ENTER)
        terminal.wait_for("You said")
        terminal.type(CTRL_D)
        terminal.wait_for_end()
    run("ask", "from elsewhere")
    with Terminal("--continue", environment={"TERM_SESSION_ID": "another window"}) as other:
        other.wait_for("This window has no session yet")
        other.wait_for("Going on with “from elsewhere”")


@pytest.mark.parametrize(("rows", "columns"), [(24, 20), (5, 60), (8, 24)])
def test_narrow_and_short_windows(endpoint: Endpoint, rows: int, columns: int) -> None:
    endpoint.reply("# 标题\n\nA paragraph with **bold** words that is longer than the row.\n\nEND1")
    with Terminal(rows=rows, columns=columns) as terminal:
        terminal.wait_for("new session")
        terminal.type("你好", ENTER)
        terminal.wait_for("END1")
        terminal.type("/context", ENTER)
        terminal.wait_for("free")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
        joined = terminal.text()
        assert joined.count("标题") == 1
        assert joined.count("END1") == 1


def test_a_dumb_terminal_and_no_color(endpoint: Endpoint) -> None:
    with Terminal(environment={"TERM": "dumb"}) as terminal:
        terminal.wait_for("assistant")
        terminal.type("hello", ENTER)
        terminal.wait_for("You said")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    endpoint.reply("**bold** `code`")
    with Terminal(environment={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("new session")
        terminal.type("hello", ENTER)
        terminal.wait_for("bold code")
        cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
        assert {cell.fg for cell in cells if cell.data in "boldce"} == {"default"}


def test_lines_from_a_pipe_are_a_conversation(endpoint: Endpoint) -> None:
    endpoint.reply("one")
    endpoint.reply("two")
    done = run(stdin="first\n/nonsense\nsecond\n/exit\nnever\n")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line in ("one", "two")] == ["one", "two"]
    assert "There is no command /nonsense." in done.stderr
    assert "assistant 0." not in done.stdout
    assert len(endpoint.requests) == 2


def test_a_full_disk_is_said_and_the_talk_goes_on(endpoint: Endpoint, home: Path) -> None:
    (home / "data").mkdir()
    (home / "data" / "locks").write_text("in the way of the folder")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("hello", ENTER)
        terminal.wait_for("You said")
        terminal.wait_for("This conversation is NOT being saved: ")
        terminal.wait_for("NOT SAVED")
        terminal.type("/session new", ENTER)
        terminal.wait_for("Leaving it would lose them")
        (home / "data" / "locks").unlink()
        terminal.type("again", ENTER)
        terminal.wait_for("Saving works again")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    shown = run("sessions", "show", "hello").stdout
    assert "hello" in shown
    assert "again" in shown


def test_keys_typed_while_a_reply_streams_are_kept_for_the_next_prompt(
    endpoint: Endpoint,
) -> None:
    endpoint.reply("one two three four five " * 8, delay=0.05)
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("count", ENTER)
        terminal.wait_for("two three")
        terminal.type("typed ahead")
        terminal.wait_for("> typed ahead")
        assert terminal.text().count("typed ahead") == 1


def test_a_paste_while_a_reply_streams_is_one_message(endpoint: Endpoint) -> None:
    endpoint.reply("one two three four five " * 8, delay=0.05)
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("count", ENTER)
        terminal.wait_for("two three")
        assert 2004 << 5 in terminal.screen.mode
        terminal.type("\x1b[200~def f(x):\n\n    return x\n/help\x1b[201~", ENTER)
        terminal.wait_for("You said")
        assert last_sent(endpoint) == "def f(x):\n\n    return x\n/help"
        assert len(endpoint.requests) == 2


def test_output_into_a_pipe_leaves_the_keys_alone(endpoint: Endpoint) -> None:
    program = ["/bin/sh", "-c", 'exec "$@" | cat', "sh", *COMMAND]
    with Terminal(program=program) as terminal:
        terminal.type("hellox\x7f", ENTER)
        terminal.wait_for("You said: hello")
        assert last_sent(endpoint) == "hello"
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0


def test_killed_while_streaming_the_terminal_is_put_right(endpoint: Endpoint) -> None:
    endpoint.reply("a b c d e f " * 100, delay=0.05)
    with Terminal() as terminal:
        before = termios.tcgetattr(terminal.process.child_fd)[3]
        terminal.wait_for("new session")
        terminal.type("tell me", ENTER)
        terminal.wait_for("c d e")
        terminal.process.kill(signal.SIGTERM)
        assert terminal.wait_for_end() == 128 + signal.SIGTERM
        assert termios.tcgetattr(terminal.process.child_fd)[3] == before
    assert "(stopped here)" in run("sessions", "show", "tell me").stdout


def test_a_closed_window_loses_nothing(endpoint: Endpoint) -> None:
    endpoint.reply("a b c d e f " * 100, delay=0.05)
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("tell me", ENTER)
        terminal.wait_for("c d e")
        terminal.process.kill(signal.SIGHUP)
        terminal.wait_for_end()
    shown = run("sessions", "show", "tell me")
    # Opening for reading heals nothing; resuming does.
    assert "tell me" in shown.stdout
    with Terminal("--session", "tell me") as terminal:
        terminal.wait_for("(stopped here)")
        terminal.wait_for("a b c d e")


PROBE = """
import os, sys
from assistant.app import App
from assistant.terminal import entry
def report(self, open_session):
    heavy = {"openai", "pymilvus", "tiktoken", "pandas", "xllamacpp", "rich", "numpy", "pydantic",
             "typer", "dotenv", "httpx2", "humanize", "filelock"}
    open(os.environ["REPORT"], "w").write(repr(sorted(heavy & set(sys.modules))))
App.warm_up = report
entry.main()
"""


def test_nothing_heavy_is_imported_when_the_prompt_is_shown(home: Path, tmp_path: Path) -> None:
    # In a process of its own, where the first thing done once the prompt is drawn is this report.
    report = {"REPORT": str(tmp_path / "imported")}
    with Terminal(program=[sys.executable, "-c", PROBE], environment=report) as terminal:
        terminal.wait_for("new session")
        terminal.wait((tmp_path / "imported").exists, "the report")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    assert (tmp_path / "imported").read_text() == "[]"


@pytest.mark.parametrize(
    ("parts", "width", "expected"),
    [
        (["title", "model"], 20, "title · model"),
        (["title", "a long model name"], 12, "title"),
        (["a title much longer than half", "7 tokens"], 40, "a title much longer… · 7 tokens"),
        (["川菜研究笔记"], 7, "川菜研…"),
        (["title"], 0, ""),
        ([], 9, ""),
    ],
)
def test_the_toolbar_shows_what_fits(parts: list[str], width: int, expected: str) -> None:
    assert fit_parts(parts, width) == expected


def test_only_a_plain_yes_is_a_yes() -> None:
    assert [is_yes(answer) for answer in ("y", "YES\n", "是", "", "n", "yess", "ok")] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip
