"""`assistant doctor` on homes that are well, and on broken ones."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from assistant.memory.session_store import SessionStore
from assistant.terminal import cli
from assistant.terminal.doctor_command import check_terminal
from assistant.terminal.exit_codes import ExitCode
from tests.endpoint import MODEL, Endpoint
from tests.terminal.program import COMMAND, PATIENCE, Terminal, run

KEY = "sk-verysecret-0123456789"


CONFIG = '[memory]\nembedder = "none"\n[model]\ncontext_window = 32000\n'


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(key=KEY) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def template(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home after two questions, a memo and a look at the index."""
    home = tmp_path_factory.mktemp("template") / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "assistant.toml").write_text(CONFIG)
    environment = {"ASSISTANT_HOME": str(home), **reached(endpoint)}
    for arguments in (
        ("ask", "my order code is PX-4471"),
        ("ask", "--continue", "thanks"),
        ("memo", "add", "the boiler was serviced"),
        ("index", "status"),
    ):
        done = run(*arguments, environment=environment)
        assert done.returncode == 0, done.stderr
    return home


def reached(endpoint: Endpoint) -> dict[str, str]:
    return {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": KEY, "MODEL_NAME": MODEL}


@pytest.fixture
def used(template: Path, endpoint: Endpoint, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, for this test alone."""
    shutil.copytree(template, home)
    for name, value in reached(endpoint).items():
        monkeypatch.setenv(name, value)
    return home


def session_of(home: Path) -> Path:
    return sorted((home / "sessions").glob("*.jsonl"))[0]


def everything(home: Path) -> Mapping[str, tuple[int, int, int]]:
    """Each file with its size, mode and time."""
    return {
        str(path.relative_to(home)): (state.st_size, state.st_mode, state.st_mtime_ns)
        for path in sorted(home.rglob("*"))
        if path.is_file() and (state := path.stat())
    }


class Doctor(Protocol):
    def __call__(self, *arguments: str) -> tuple[int, dict[str, Any]]: ...


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Runs it in this process: gives the exit code and the report, in which no key ever is."""

    def examine(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = cli.run(["doctor", "--json", *arguments])
        said = capsys.readouterr()
        assert KEY not in said.out + said.err
        return code, json.loads(said.out)

    return examine


def worst(report: Mapping[str, Any]) -> dict[str, str]:
    """What is not in order."""
    return {one["name"]: one["state"] for one in report["checks"] if one["state"] != "ok"}


def test_a_home_after_a_conversation_is_well_and_stays_as_it_is(used: Path) -> None:
    before = everything(used)
    done = run("doctor", "--json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert worst(report) == {}
    assert (done.returncode, report["ok"], report["copies"]) == (ExitCode.OK, True, [])
    assert report["home"] == str(used)
    assert all(one["findings"] for one in report["checks"])
    assert everything(used) == before


def test_a_home_that_is_not_there_yet_is_well_and_is_not_made(
    doctor: Doctor, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    code, report = doctor("--offline")
    assert code == ExitCode.OK, worst(report)
    assert not home.exists()


def test_a_broken_home_is_told_and_mended(used: Path, doctor: Doctor) -> None:
    session = session_of(used)
    whole = session.read_bytes()
    broken = whole + b'{"v":1,"type":"mess\n'
    session.write_bytes(broken)
    session.chmod(0o644)
    (used / "data" / ".facts.jsonl.4194305.tmp").write_text("half")
    (used / "data" / "promises.json").write_text("rubbish")
    expected = {
        "session files": "problem",
        "permissions": "problem",
        "left-over files": "warning",
        "promises": "warning",
    }
    before = everything(used)
    code, report = doctor()
    assert code == ExitCode.PROBLEM
    assert worst(report) == expected
    assert everything(used) == before

    code, report = doctor("--fix", "--yes")
    assert code == ExitCode.OK
    assert worst(report) == dict.fromkeys(expected, "fixed")
    assert session.read_bytes() == whole
    assert session.stat().st_mode & 0o777 == 0o600
    (copy,) = map(Path, report["copies"])
    assert copy.parent == used / "data" / "before-doctor"
    assert copy.read_bytes() == broken
    assert doctor()[0] == ExitCode.OK


@pytest.mark.parametrize("damage", ["a row is missing", "it is a file"])
def test_an_index_that_is_not_what_the_logs_say_is_made_anew(
    used: Path, doctor: Doctor, damage: str
) -> None:
    index = used / "data" / "index.db"
    if damage == "it is a file":
        shutil.rmtree(index)
        index.touch(0o600)
    else:
        kept = index.parent / "index.json"
        known = kept.read_bytes()
        shutil.rmtree(index)
        session = session_of(used)
        session.rename(session.with_suffix(".aside"))
        assert run("index", "status").returncode == 0
        session.with_suffix(".aside").rename(session)
        kept.write_bytes(known)
    code, report = doctor()
    assert (code, worst(report)) == (ExitCode.PROBLEM, {"memory index": "problem"})
    assert doctor("--fix", "--yes")[0] == ExitCode.OK
    assert not index.exists()
    assert "2 exchanges" in run("index", "status").stdout
    assert worst(doctor()[1]) == {}


def test_it_says_what_it_would_do_and_asks_first(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = session_of(used)
    session.write_bytes(session.read_bytes() + b"rubbish\n")
    before = session.read_bytes()
    assert cli.run(["doctor", "--yes"]) == ExitCode.USAGE
    assert cli.run(["doctor", "--fix", "--offline"]) == ExitCode.USAGE
    assert "needs --yes" in capsys.readouterr().err
    assert session.read_bytes() == before
    with Terminal("doctor", "--fix", "--offline", columns=200) as terminal:
        terminal.wait_for("Do it? [y/N]")
        assert "goes out. A copy keeps it as it is." in terminal.text()
        terminal.type("n\r")
        terminal.wait_for("Nothing was changed.")
        assert terminal.wait_for_end() == ExitCode.PROBLEM
    assert session.read_bytes() == before
    with Terminal("doctor", "--fix", "--offline", columns=200) as terminal:
        terminal.wait_for("Do it? [y/N]")
        terminal.type("y\r")
        terminal.wait_for("before-doctor")
        assert terminal.wait_for_end() == ExitCode.OK
    assert session.read_bytes() == before.removesuffix(b"rubbish\n")


def test_a_home_that_is_well_has_nothing_to_mend(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["doctor", "--fix"]) == ExitCode.OK
    said = capsys.readouterr()
    assert "nothing to mend" in said.err
    assert "✓ session files: Sessions: 1; lines:" in said.out


def test_a_session_that_is_open_elsewhere_is_not_mended(
    used: Path, doctor: Doctor, store: SessionStore
) -> None:
    session = session_of(used)
    session.write_bytes(session.read_bytes() + b"rubbish\n")
    before = session.read_bytes()
    opened = store.open(session.stem)
    code, report = doctor("--fix", "--yes")
    assert (code, worst(report)) == (ExitCode.PROBLEM, {"session files": "problem"})
    assert "open in another terminal" in json.dumps(report)
    opened.close()
    assert session.read_bytes() == before


def test_a_wrong_key_is_told_and_never_shown(
    used: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = used / ".env"
    env.write_text(f"OPENAI_API_KEY={KEY}\nMILVUS_TOKEN={KEY}\n")
    env.chmod(0o644)
    monkeypatch.delenv("OPENAI_API_KEY")
    code, report = doctor("--offline")
    assert (code, worst(report)) == (ExitCode.PROBLEM, {"permissions": "problem"})
    assert env.stat().st_mode & 0o777 == 0o644
    assert doctor("--offline", "--fix", "--yes")[0] == ExitCode.OK
    assert env.stat().st_mode & 0o777 == 0o600


def test_settings_that_can_not_be_read_are_a_problem(used: Path, doctor: Doctor) -> None:
    config = used / "config" / "assistant.toml"
    config.write_text('[budget]\nhistroy = 5\nreply = 1\n[memory]\nembedder = "none"\n')
    code, report = doctor("--offline")
    assert code == ExitCode.PROBLEM
    said = json.dumps([one for one in report["checks"] if one["name"] == "settings"])
    assert "Did you mean budget.history?" in said
    assert "out of bounds" in said


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root can write everywhere"
)
def test_a_home_that_can_only_be_read_is_looked_at_all_the_same(used: Path) -> None:
    for path in (*used.rglob("*"), used):
        path.chmod(0o500 if path.is_dir() else 0o400)
    before = everything(used)
    # What root is allowed beyond the rights of files is given up.
    bounds = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
    done = subprocess.run(
        (*bounds, *COMMAND, "doctor", "--json", "--offline"),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert worst(json.loads(done.stdout)) == {}
    assert done.returncode == ExitCode.OK
    assert everything(used) == before


class Window(io.StringIO):
    """A terminal of that encoding, on a file descriptor."""

    def __init__(self, fd: int, encoding: str) -> None:
        super().__init__()
        self._fd = fd
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def fileno(self) -> int:
        return self._fd


@pytest.mark.parametrize(
    ("columns", "encoding", "states"),
    [
        (80, "utf-8", ["ok"]),
        (39, "UTF-8", ["warning", "ok"]),
        (80, "ascii", ["warning", "ok"]),
        (0, "utf-8", ["ok"]),
    ],
)
def test_a_window_is_looked_at(columns: int, encoding: str, states: list[str]) -> None:
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        found = check_terminal(Window(theirs, encoding), {"TERM": "xterm"})
        assert [one.state for one in found] == states
    finally:
        os.close(ours)
        os.close(theirs)


def test_colours_may_be_off() -> None:
    ours, theirs = os.openpty()
    try:
        (finding,) = check_terminal(Window(theirs, "utf-8"), {"NO_COLOR": "1", "TERM": "xterm"})
        assert "no colours" in finding.text
    finally:
        os.close(ours)
        os.close(theirs)
