"""The set-up dialog: choose, try, write."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.settings import load_settings
from assistant.terminal.setup import find_servers, set_up
from tests.endpoint import Endpoint
from tests.terminal.program import Terminal, run


class Answers:
    """A dialog that gives the answers in order, and keeps what it was told."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.said: list[str] = []

    def ask(self, question: str) -> str:
        self.said.append(question)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    secret = ask

    def say(self, text: str) -> None:
        self.said.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.said)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(key="sk-right") as endpoint:
        yield endpoint


def test_an_endpoint_with_a_key(endpoint: Endpoint, home: Path) -> None:
    endpoint.models = ["small", "large"]
    dialog = Answers("1", endpoint.url, "sk-right", "large")
    set_up(dialog, home, {}, {})
    assert "It offers: large, small" in dialog.text
    assert "It answers: You said: Say hello in three words." in dialog.text
    values = load_settings(home, {}).values.model
    assert (values.base_url, values.api_key, values.name) == (endpoint.url, "sk-right", "large")
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
    assert (home / "config" / "assistant.toml").exists()
    assert load_settings(home, {}).problems == []


def test_a_server_found_on_this_machine(home: Path) -> None:
    with Endpoint() as endpoint:
        endpoint.models = ["qwen3:4b"]
        ports = {"Ollama": endpoint.port, "vLLM": 1}
        assert find_servers(ports) == [("Ollama", endpoint.url, ["qwen3:4b"])]
        dialog = Answers("2")
        set_up(dialog, home, {}, ports)
        assert f"  2  Ollama on this machine, {endpoint.url}" in dialog.said
        values = load_settings(home, {}).values.model
        assert (values.base_url, values.api_key, values.name) == (endpoint.url, None, "qwen3:4b")


def test_the_embedded_model_takes_the_endpoint_out_and_keeps_the_rest(home: Path) -> None:
    home.mkdir(parents=True)
    (home / ".env").write_text("# mine\nOPENAI_API_KEY=old\nOTHER=kept\n")
    (home / ".env").chmod(0o644)
    dialog = Answers("x", "9", "2")
    set_up(dialog, home, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {})
    text = (home / ".env").read_text()
    assert "OPENAI_API_KEY" not in text
    assert "# mine" in text
    assert "OTHER=kept" in text
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
    assert dialog.said.count("Please type one of the numbers.") == 2
    assert "Note: OPENAI_BASE_URL is set in your environment" in dialog.text


@pytest.mark.parametrize(("answer", "written"), [("n", False), ("", False), ("y", True)])
def test_a_model_that_does_not_answer_is_written_only_if_wanted(
    endpoint: Endpoint, home: Path, answer: str, written: bool
) -> None:
    dialog = Answers("1", endpoint.url, "sk-wrong", answer)
    set_up(dialog, home, {}, {})
    assert "It did not answer: " in dialog.text
    assert "sk-wrong" not in dialog.text
    assert (home / ".env").exists() is written


def test_a_dead_address_can_be_typed_again(endpoint: Endpoint, home: Path) -> None:
    dialog = Answers("1", "http://127.0.0.1:9/v1", "", "y", endpoint.url, "sk-right")
    set_up(dialog, home, {}, {})
    assert load_settings(home, {}).values.model.base_url == endpoint.url


def test_the_embedded_model_needs_no_file(home: Path) -> None:
    dialog = Answers("2")
    set_up(dialog, home, {}, {})
    assert "Nothing needs to be written" in dialog.text
    assert not (home / ".env").exists()


def test_leaving_in_the_middle_writes_nothing(endpoint: Endpoint, home: Path) -> None:
    with pytest.raises(EOFError):
        set_up(Answers("1", endpoint.url), home, {}, {})
    assert not (home / ".env").exists()


def test_without_a_terminal_it_says_what_to_do() -> None:
    done = run("setup")
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert ".env.example shows how" in done.stderr


def test_in_a_terminal_the_key_is_not_shown(endpoint: Endpoint, home: Path) -> None:
    with Terminal("setup") as terminal:
        terminal.wait_for("Number (1-")
        terminal.type("1\r")
        terminal.wait_for("Address")
        terminal.type(f"{endpoint.url}\r")
        terminal.wait_for("Key (not shown")
        terminal.type("sk-right\r")
        terminal.wait_for("It answers:")
        assert terminal.wait_for_end() == 0
        assert "sk-right" not in terminal.text()
    assert load_settings(home, {}).values.model.api_key == "sk-right"
