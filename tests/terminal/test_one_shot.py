"""`assistant ask` and the other commands of the command line, against a real endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.errors import UsageError
from assistant.terminal.one_shot import question_text
from tests.endpoint import Endpoint
from tests.terminal.program import Terminal, run


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MODEL_NAME", "test-model")
        yield endpoint


def last_sent(endpoint: Endpoint) -> str:
    content: str = endpoint.requests[-1]["messages"][-1]["content"]
    return content.partition("\n\n[Background")[0]


def test_the_answer_alone_is_on_stdout(endpoint: Endpoint) -> None:
    endpoint.reply("**Lima** is the capital.\n")
    done = run("ask", "capital of Peru?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "**Lima** is the capital.\n", "")
    assert last_sent(endpoint) == "capital of Peru?"


def test_piped_text_is_the_context_of_the_question(endpoint: Endpoint) -> None:
    run("ask", "which line is wrong?", stdin="line one\nline 二\n")
    assert last_sent(endpoint) == "which line is wrong?\n\nline one\nline 二"


def test_piped_text_alone_is_the_question(endpoint: Endpoint) -> None:
    run("ask", stdin="just this")
    assert last_sent(endpoint) == "just this"


def test_bytes_that_are_no_text_do_not_crash(endpoint: Endpoint) -> None:
    done = run("ask", "what is this?", stdin=b"caf\xe9 \x00 \xff")
    assert done.returncode == 0
    assert "caf" in last_sent(endpoint)


def test_bytes_that_are_no_text_do_not_crash_in_a_strict_locale(endpoint: Endpoint) -> None:
    strict = {"PYTHONIOENCODING": "utf-8:strict"}
    done = run("ask", "what is this?", stdin=b"caf\xe9", environment=strict)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(stdin=b"caf\xe9\n", environment=strict).returncode == 0


def test_ctrl_c_ends_with_its_code_and_keeps_the_part(endpoint: Endpoint) -> None:
    endpoint.reply("one two three " * 100, delay=0.05)
    with Terminal("ask", "count") as terminal:
        terminal.wait_for("two three")
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130
        assert "(stopped here)" in terminal.text()
    assert "one two three" in run("sessions", "show", "count").stdout


@pytest.mark.parametrize("target", [">&-", ">/dev/full"])
def test_output_that_goes_nowhere_is_no_traceback(endpoint: Endpoint, target: str) -> None:
    import subprocess

    from tests.terminal.program import COMMAND

    done = subprocess.run(
        f"{' '.join(COMMAND)} ask hi {target}",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if target == ">&-" else 1), done.stderr


def test_a_reader_that_has_enough_is_no_error(endpoint: Endpoint) -> None:
    import subprocess

    from tests.terminal.program import COMMAND

    for number in range(3):
        run("ask", f"question {number} " + "long " * 50)
    done = subprocess.run(
        f"{' '.join(COMMAND)} sessions show 'question 1' | head -1",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)


def test_control_characters_in_an_argument_do_not_reach_the_screen(endpoint: Endpoint) -> None:
    done = run("sessions", "show", "\x1b[31mred")
    assert done.returncode == 4
    assert "\x1b" not in done.stderr


def test_nothing_to_ask(endpoint: Endpoint) -> None:
    done = run("ask")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is nothing to ask" in done.stderr
    assert endpoint.requests == []


def test_stdin_closed(endpoint: Endpoint) -> None:
    endpoint.reply("yes")
    assert run("ask", "hello?", stdin=None).stdout == "yes\n"
    without = run(stdin=None)
    assert without.returncode == 2
    assert "There is no input to read from" in without.stderr


def test_json_is_one_object(endpoint: Endpoint) -> None:
    endpoint.reply("你好", model="test-model-2")
    done = run("ask", "--json", "hi")
    document = json.loads(done.stdout)
    assert set(document) == {"reply", "session", "turn", "changes", "not_done", "usage", "model"}
    assert (document["reply"], document["turn"], document["model"]) == ("你好", 1, "test-model-2")
    assert document["usage"]["prompt_tokens"] > 0
    assert done.stderr == ""
    again = run("ask", "--json", "--session", document["session"], "and now?")
    assert json.loads(again.stdout)["turn"] == 2
    assert [one["role"] for one in endpoint.requests[-1]["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip


def test_no_stream_prints_the_whole_reply(endpoint: Endpoint) -> None:
    endpoint.reply("one two three")
    assert run("ask", "--no-stream", "go").stdout == "one two three\n"


def test_each_question_has_a_session_of_its_own_unless_told(endpoint: Endpoint) -> None:
    first = json.loads(run("ask", "--json", "one").stdout)["session"]
    second = json.loads(run("ask", "--json", "--new", "two").stdout)["session"]
    third = json.loads(run("ask", "--json", "--continue", "three").stdout)["session"]
    assert len({first, second}) == 2
    assert third == second


def test_private_leaves_nothing(endpoint: Endpoint, home: Path) -> None:
    assert run("ask", "--private", "secret words").returncode == 0
    assert not any(path.is_file() for path in home.rglob("*"))


EXIT_CODES = [
    ("wrong usage", ["ask", "--session", "x", "--new", "q"], 2, "exclude each other"),
    ("unknown option", ["--nonsense"], 2, "No such option"),
    ("no such session", ["ask", "--session", "nothing", "q"], 4, "No session has the id or title"),
    ("an id with ..", ["--session", "../../etc/passwd"], 4, "No session has the id or title"),
    ("a message too big", ["ask", "x " * 20_000], 6, "It is saved and was not sent"),
    ("delete without --yes", ["sessions", "delete", "x"], 4, "No session has the id"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [case[1:] for case in EXIT_CODES],
    ids=[case[0] for case in EXIT_CODES],
)
def test_exit_codes(endpoint: Endpoint, arguments: list[str], code: int, sentence: str) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_an_endpoint_that_fails_is_exit_code_five(endpoint: Endpoint) -> None:
    endpoint.fail(401, {"error": {"message": "Incorrect API key provided"}}, {})
    done = run("ask", "hello?")
    assert (done.returncode, done.stdout) == (5, "")
    assert "key" in done.stderr
    endpoint.break_after("half a re")
    broken = run("ask", "hello?")
    assert (broken.returncode, broken.stdout) == (5, "half a re\n")
    assert "the connection broke here" in broken.stderr


def test_a_config_that_is_wrong_is_named_and_the_program_goes_on(
    endpoint: Endpoint, home: Path
) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "assistant.toml").write_text("[budget]\nhistroy = 5\nreply = 'many'\n")
    endpoint.reply("fine")
    done = run("ask", "hello?")
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert "there is no setting budget.histroy. Did you mean budget.history?" in done.stderr
    assert "budget.reply = 'many' is wrong" in done.stderr


def test_sessions_list_show_rename_delete(endpoint: Endpoint) -> None:
    assert "no sessions yet" in run("sessions", "list").stdout
    endpoint.reply("Lima [red]x[/red]")
    run("ask", "capital of Peru?")
    listed = run("sessions", "list").stdout
    assert "capital of Peru?" in listed
    shown = run("sessions", "show", "capital").stdout
    assert "capital of Peru?" in shown
    assert "Lima [red]x[/red]" in shown
    assert "is called “Perú” now" in run("sessions", "rename", "capital", "Perú").stderr
    refused = run("sessions", "delete", "Perú")
    assert refused.returncode == 2
    assert "needs --yes. Nothing was erased." in refused.stderr
    assert "nothing left" in run("sessions", "delete", "--yes", "Perú").stdout
    assert "no sessions yet" in run("sessions", "list").stdout


def test_the_folder_one_stands_in_never_matters(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = tmp_path / "strange"
    (strange / "config").mkdir(parents=True)
    (strange / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9/v1\nMODEL_NAME=evil\n")
    (strange / "config" / "assistant.toml").write_text("[model]\nname = 'evil'\n")
    monkeypatch.chdir(strange)
    assert run("ask", "hello?").returncode == 0
    assert endpoint.requests[-1]["model"] == "test-model"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("q", "q"), (" q ", "q"), (None, "piped"), ("", "piped")],
)
def test_question_text_without_and_with_a_pipe(asked: str | None, expected: str) -> None:
    import io

    piped = io.StringIO(" piped \n") if expected == "piped" else None
    assert question_text(asked, piped) == expected
    with pytest.raises(UsageError):
        question_text("  ", io.StringIO(" \n"))


@pytest.mark.parametrize(
    "options", [("--private",), ("--session", "x"), ("--continue",), ("--model", "m")]
)
def test_options_of_a_conversation_before_the_command_are_no_silent_loss(
    endpoint: Endpoint, home: Path, options: tuple[str, ...]
) -> None:
    done = run(*options, "ask", "my secret")
    assert done.returncode == 2
    assert "behind the command" in " ".join(done.stderr.split())
    assert not list((home / "sessions").glob("*.jsonl"))
    assert endpoint.requests == []
