"""The whole program in processes of its own: run to its end, or typed at in a pseudo-terminal."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pexpect
import pyte

COMMAND = (sys.executable, "-W", "error", "-m", "assistant.terminal.entry")
# Generous: these machines are shared, and a loaded one must not fail a test.
PATIENCE = 60.0


def run(
    *arguments: str,
    stdin: str | bytes | None = "",
    environment: Mapping[str, str] | None = None,
    user: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end; `stdin` None closes it."""
    source = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        ("/bin/sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, *arguments)
        if stdin is None
        else (*COMMAND, *arguments),
        input=source,
        capture_output=True,
        env={**os.environ, **(environment or {})},
        timeout=PATIENCE,
        check=False,
        user=user,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


class Terminal:
    """The program in a pseudo-terminal, its screen read through a terminal emulator."""

    def __init__(
        self,
        *arguments: str | Path,
        program: Sequence[str] = COMMAND,
        environment: Mapping[str, str] | None = None,
        rows: int = 30,
        columns: int = 100,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=5_000, ratio=1)
        self._stream = pyte.ByteStream(self.screen)
        self.process = pexpect.spawn(
            program[0],
            [*program[1:], *map(str, arguments)],
            env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
            dimensions=(rows, columns),
            timeout=PATIENCE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        # Not left to pexpect, which gives a process a tenth of a second to end.
        if self.process.isalive():
            self.process.kill(signal.SIGKILL)
        ends = time.monotonic() + PATIENCE
        while self.process.isalive() and time.monotonic() < ends:
            time.sleep(0.01)
        self.process.close(force=True)

    def type(self, *keys: str) -> None:
        for key in keys:
            self.process.send(key)

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Read until the text has been on the screen or in the scrollback so many times."""
        self.wait(lambda: self.text().count(text) >= times, f"{text!r} × {times}")

    def wait(self, seen: Callable[[], bool], what: str) -> None:
        ends = time.monotonic() + PATIENCE
        while not seen():
            if not self._read(0.2) or time.monotonic() > ends:
                raise AssertionError(f"never saw {what}:\n{self.text()}")

    def wait_for_end(self) -> int:
        ends = time.monotonic() + PATIENCE
        while self._read(0.2):
            assert time.monotonic() < ends, f"the program does not end:\n{self.text()}"
        self.process.wait()
        status = self.process.exitstatus
        return -int(self.process.signalstatus or 0) if status is None else int(status)

    def text(self) -> str:
        """Scrollback and screen, lines right-trimmed."""
        scrolled = [
            "".join(row[column].data for column in range(self.screen.columns))
            for row in self.screen.history.top
        ]
        return "\n".join(line.rstrip() for line in [*scrolled, *self.screen.display])

    def last_line(self) -> str:
        return [line for line in self.screen.display if line.strip()][-1].rstrip()

    def _read(self, patience: float) -> bool:
        """Take in what has come; False when the program has ended."""
        ready, _, _ = select.select([self.process.child_fd], [], [], patience)
        if not ready:
            return self.process.isalive()
        try:
            data = os.read(self.process.child_fd, 65_536)
        except OSError:
            return False
        for _ in re.findall(rb"\x1b\[6n", data):
            self.process.send(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")
        self._stream.feed(data)
        return bool(data)
