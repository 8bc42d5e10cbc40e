"""Time from the command line to an answer, or to a prompt that takes keys.

    python -m benchmarks.startup [--rounds N] [--peers FOLDER]

The variants take turns, `python -c pass` before each of them, and each is compared with that.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
import pyte

from benchmarks.session_files import write_session
from benchmarks.table import Aim, table_text

BIN = Path(sys.executable).parent
PEERS = {"llm": "llm", "aider": "aider-chat"}
"""Commands of other programs, and the packages they come from."""
# Nothing listens here: the program starts neither its embedded model nor a conversation with it.
NOWHERE = "http://127.0.0.1:9/v1"
TIMEOUT = 60.0
RESUMED_MESSAGES = 1_000

PASS = "python -c pass"
HELP = "assistant --help"
PROMPT = "assistant, until a key is echoed"
LLM_HELP = "llm --help"


class CannotMeasure(Exception):
    """Why a variant has no figures, in one line."""


@dataclass
class Variant:
    """Something to time: `run` returns seconds. What can't run says why in `problem`."""

    name: str
    run: Callable[[], float]
    seconds: list[float] = field(default_factory=list)
    problem: str = ""

    def measure(self) -> None:
        if self.problem:
            return
        try:
            self.seconds.append(self.run())
        except CannotMeasure as error:
            self.problem = str(error)
            self.seconds.clear()


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        variants = _variants(Path(folder), options.peers)
        for variant in variants:
            variant.measure()  # once without counting: files are read, bytecode is written
            variant.seconds.clear()
        baseline, *others = variants
        for _ in range(options.rounds):
            for variant in others:
                baseline.measure()
                variant.measure()
    _report(variants, options.rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--peers",
        type=Path,
        default=platformdirs.user_cache_path("assistant", appauthor=False) / "peers",
        help="where other programs are installed to be measured, each in an environment",
    )
    return parser.parse_args()


def _variants(folder: Path, peers: Path) -> list[Variant]:
    assistant = str(BIN / "assistant")
    new, resumed = _environment(folder / "new"), _environment(folder / "resumed")
    write_session(folder / "resumed" / "sessions" / "20260101-000000-abc.jsonl", RESUMED_MESSAGES)
    return [
        Variant(PASS, lambda: time_command([sys.executable, "-c", "pass"], new)),
        Variant("assistant --version", lambda: time_command([assistant, "--version"], new)),
        Variant(HELP, lambda: time_command([assistant, "--help"], new)),
        Variant(PROMPT, lambda: time_to_key([assistant], new)),
        Variant(
            f"the same, --continue with {RESUMED_MESSAGES:,} messages",
            lambda: time_to_key([assistant, "--continue"], resumed),
        ),
        *(_peer(command, package, peers, new) for command, package in PEERS.items()),
    ]


def _environment(home: Path) -> Mapping[str, str]:
    """Ours without what changes Python's own start, and with a home that is empty."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own = {
        "HOME": str(home),
        "ASSISTANT_HOME": str(home),
        "OPENAI_BASE_URL": NOWHERE,
        "TERM": "xterm-256color",
    }
    home.mkdir(parents=True)
    return kept | own


# --- timing -------------------------------------------------------------------------------------


def time_command(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Seconds a whole command takes."""
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise CannotMeasure(f"not done within {TIMEOUT:.0f} s") from None
    seconds = time.perf_counter() - begun
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise CannotMeasure(f"exit code {done.returncode}: {last}")
    return seconds


def time_to_key(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Seconds from the start until the prompt stands there and a typed character is on it."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        terminal = Terminal(ours)
        terminal.wait_for_line(">", until=begun + TIMEOUT)
        os.write(ours, b"x")
        terminal.wait_for_line("> x", until=begun + TIMEOUT)
        return time.perf_counter() - begun
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class Terminal(pyte.Screen):
    """The screen as a person sees it; it answers when asked where the cursor is."""

    def __init__(self, fd: int) -> None:
        super().__init__(80, 24)
        self._fd = fd
        self._stream = pyte.ByteStream(self)

    def write_process_input(self, data: str) -> None:
        os.write(self._fd, data.encode())

    def wait_for_line(self, text: str, *, until: float) -> None:
        """Read until the cursor's line is `text`."""
        while self.display[self.cursor.y].rstrip() != text:
            if not select.select([self._fd], [], [], max(0.0, until - time.perf_counter()))[0]:
                raise CannotMeasure(f"no {text!r} within {TIMEOUT:.0f} s")
            self._stream.feed(self._read())

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 65_536)
        except OSError:
            shown = " ".join(line.strip() for line in self.display).strip()
            raise CannotMeasure(f"it ended: {shown[-100:]}") from None


# --- other programs -----------------------------------------------------------------------------


def _peer(command: str, package: str, folder: Path, environment: Mapping[str, str]) -> Variant:
    program = folder / command / "bin" / command
    variant = Variant(
        f"{command} --help", lambda: time_command([str(program), "--help"], environment)
    )
    try:
        if not program.exists():
            _install(package, folder / command)
    except CannotMeasure as error:
        variant.problem = str(error)
    return variant


def _install(package: str, environment: Path) -> None:
    print(f"Installing {package} (once) …", file=sys.stderr)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--compile"]
    for command in ([sys.executable, "-m", "venv", str(environment)], [*pip, package]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise CannotMeasure(f"{package} can't be installed: {last}")


# --- reporting ----------------------------------------------------------------------------------


def _report(variants: Sequence[Variant], rounds: int) -> None:
    by_name = {variant.name: variant for variant in variants}
    baseline = by_name[PASS]
    print(f"{rounds} rounds, variants in turn\n")
    heads = ("", "min ms", "x pass", "median ms", "x pass")
    print(table_text(heads, [_row(variant, baseline) for variant in variants]))
    print()
    for variant in variants:
        if variant.problem:
            print(f"{variant.name} was not measured: {variant.problem}")
    help_, prompt, llm_help = by_name[HELP], by_name[PROMPT], by_name[LLM_HELP]
    for aim in (
        Aim("--help, at most 8 x pass", _ratio(help_, baseline), at_most=8),
        Aim("llm --help, at least 8 x ours", _ratio(llm_help, help_), at_least=8),
        Aim("prompt, at most 14 x pass", _ratio(prompt, baseline), at_most=14),
    ):
        print(aim)


def _row(variant: Variant, baseline: Variant) -> Sequence[str]:
    if not variant.seconds or not baseline.seconds:
        return variant.name, "-", "-", "-", "-"
    cells = [variant.name]
    for figure in (min, statistics.median):
        mine, base = figure(variant.seconds), figure(baseline.seconds)
        cells += [f"{mine * 1e3:,.1f}", f"{mine / base:.1f}"]
    return cells


def _ratio(variant: Variant, other: Variant) -> float | None:
    """How many times the other a variant takes, by their medians."""
    if not variant.seconds or not other.seconds:
        return None
    return statistics.median(variant.seconds) / statistics.median(other.seconds)


if __name__ == "__main__":
    main()
