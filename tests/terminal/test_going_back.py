"""/retry and /edit in a real pseudo-terminal, with a real editor process and a real endpoint."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint import Endpoint
from tests.terminal.program import Terminal, run

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Endpoint]:
    (home / "config").mkdir(parents=True)
    (home / "config" / "assistant.toml").write_text(
        '[session]\ntitle = "words"\n[memory]\nindex = false\n'
    )
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MODEL_NAME", "test-model")
        yield endpoint


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A program in the editor's place; it reads a line typed, and notes the file it was given."""
    script = tmp_path / "editor"
    script.write_text(
        "#!/bin/sh\n"
        f'cp "$1" "{tmp_path}/given"; echo "$1" > "{tmp_path}/place"\n'
        f'stat -c %a "$1" "$(dirname "$1")" > "{tmp_path}/modes"\n'
        'printf "editing: "; read line; touch "$1~"; printf "%s\\n" "$line" > "$1"\n'
    )
    script.chmod(stat.S_IRWXU)
    monkeypatch.setenv("VISUAL", str(script))
    return tmp_path


def typed(endpoint: Endpoint, at: int = -1) -> str:
    content: str = endpoint.requests[at]["messages"][-1]["content"]
    return content.partition("\n\n[Background")[0]


def said(endpoint: Endpoint) -> list[str]:
    return [message["content"] for message in endpoint.requests[-1]["messages"]]


def test_another_model_answers_one_turn(endpoint: Endpoint) -> None:
    endpoint.reply("A river.")
    endpoint.reply("A long river.")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("what is the Rhine?", ENTER)
        terminal.wait_for("A river.")
        terminal.type("/retry with large-one", ENTER)
        terminal.wait_for("A long river.")
        assert endpoint.requests[-1]["model"] == "large-one"
        assert typed(endpoint) == "what is the Rhine?"
        assert "A river." not in said(endpoint)
        terminal.type("and the Elbe?", ENTER)
        terminal.wait_for("You said")
        assert endpoint.requests[-1]["model"] == "test-model"
        assert said(endpoint)[2] == "A long river."
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0


def test_a_model_that_is_not_there_leaves_the_old_reply(endpoint: Endpoint) -> None:
    endpoint.reply("A river.")
    error = {"error": {"message": "The model `no-such` does not exist", "code": "model_not_found"}}
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("what is the Rhine?", ENTER)
        terminal.wait_for("A river.")
        endpoint.fail(404, error)
        terminal.type("/retry with no-such", ENTER)
        terminal.wait_for("No reply came, so the old one is there again.")
        assert "no-such" in terminal.text()
        terminal.type("and the Elbe?", ENTER)
        terminal.wait_for("You said")
        assert endpoint.requests[-1]["model"] == "test-model"
        assert said(endpoint)[1:3] == ["what is the Rhine?", "A river."]


@pytest.mark.parametrize("shown", [False, True])
def test_ctrl_c_ends_the_new_reply_and_the_model_is_the_usual_one(
    endpoint: Endpoint, shown: bool
) -> None:
    endpoint.reply("A river.")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("what is the Rhine?", ENTER)
        terminal.wait_for("A river.")
        endpoint.stall_after("It is long" if shown else "")
        terminal.type("/retry with slow-one", ENTER)
        if shown:
            terminal.wait_for("It")
        else:
            terminal.wait(lambda: len(endpoint.requests) == 2, "the second request")
        terminal.type(CTRL_C)
        terminal.wait_for("(stopped here)" if shown else "the old one is there again")
        terminal.type("and the Elbe?", ENTER)
        terminal.wait_for("You said")
        assert endpoint.requests[-1]["model"] == "test-model"
        assert said(endpoint)[2].startswith("It is long" if shown else "A river.")


def test_the_last_question_is_edited_and_asked_anew(endpoint: Endpoint, editor: Path) -> None:
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("what is the Rine?", ENTER)
        terminal.wait_for("You said: what is the Rine?")
        terminal.type("/edit", ENTER)
        terminal.wait_for("editing:")
        terminal.type("what is the Rhône?", ENTER)
        terminal.wait_for("You said: what is the Rhône?")
        # What the editor was typed at is on the screen, as any program's terminal shows it.
        assert "editing: what is the Rhône?" in terminal.text()
        assert typed(endpoint) == "what is the Rhône?"
        assert len(said(endpoint)) == 2
        terminal.type("/edit", ENTER)
        terminal.wait_for("editing:", times=2)
        terminal.type("what is the Rhône?", ENTER)
        terminal.wait_for("Nothing was changed, and nothing was sent.")
        terminal.type("/history all", ENTER)
        terminal.wait_for("· undone", times=2)
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    assert (editor / "given").read_text() == "what is the Rhône?"
    assert (editor / "modes").read_text().split() == ["600", "700"]
    assert not Path((editor / "place").read_text().strip()).parent.exists()
    assert len(endpoint.requests) == 2


def test_an_editor_that_fails_changes_nothing(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor")
    monkeypatch.setenv("EDITOR", "false")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type("hello", ENTER)
        terminal.wait_for("You said")
        terminal.type("/edit", ENTER)
        terminal.wait_for("The editor false failed (code 1). Nothing was changed.")
        terminal.type("and now", ENTER)
        terminal.wait_for("You said: and now")
        assert said(endpoint)[1] == "hello"


def test_without_a_terminal_there_is_no_editor(endpoint: Endpoint) -> None:
    done = run(stdin="hello\n/edit\n/retry\n")
    assert "An editor needs a terminal. Nothing was changed." in done.stderr
    assert len(endpoint.requests) == 2
    assert typed(endpoint) == "hello"
