"""`assistant doctor`: looks at everything, says how it is, and mends what it may."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

import msgspec

from assistant.app import local_now, log_to
from assistant.commands.outputs import Text
from assistant.doctor import all_checks
from assistant.errors import UsageError
from assistant.memory.checks.findings import Check, Copies, Finding, Remedy, Result, looked, mended
from assistant.settings import find_home, load_settings
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.line_editor import is_yes
from assistant.terminal.render import Screen, one_shot_screen

#: Columns below which tables and the toolbar have no room.
NARROW = 40
MARKS = {"ok": "✓", "warning": "!", "problem": "✗", "fixed": "✓"}
#: The same where letters of other scripts can't be shown.
PLAIN_MARKS = {"ok": "+", "warning": "!", "problem": "x", "fixed": "+"}


def examine(fix: bool, yes: bool, as_json: bool, offline: bool) -> int:
    """Look, and with `fix` mend; the exit code says whether a problem is left."""
    settings = load_settings(find_home(os.environ), os.environ, look_only=True)
    # Only what mends may write, its log included.
    log_to(settings.data_folder / "logs" / "assistant.log" if fix else None)
    screen = one_shot_screen()
    checks = (
        *all_checks(settings, os.environ, offline=offline),
        Check("terminal", lambda: check_terminal(sys.stdout, os.environ)),
    )
    with screen.working("Looking …") as say:
        results = _looked(checks, say)
    copies = Copies(settings.home, f"{local_now():%Y%m%d-%H%M%S}")
    if not as_json:
        _tell(screen, results)
    if fix and _agreed(screen, [one for result in results for one in result.remedies], yes):
        results = [mended(result, copies) for result in results]
        if not as_json:
            _tell(screen, [result for result in results if _changed(result)])
    if as_json:
        screen.show(Text(_as_json(str(settings.home), results, copies)))
    elif copies.made:
        screen.say(f"Copies of what was changed are in {copies.folder}.")
    return ExitCode.PROBLEM if _problem_left(results) else ExitCode.OK


def _looked(checks: Sequence[Check], say: Callable[[str], None]) -> list[Result]:
    results = []
    for check in checks:
        say(f"Looking: {check.name} …")
        results.append(looked(check))
    return results


def _problem_left(results: Sequence[Result]) -> bool:
    return any(result.state == "problem" for result in results)


def _changed(result: Result) -> bool:
    return any(one.state == "fixed" or one.text.startswith("Not done") for one in result.findings)


def _agreed(screen: Screen, remedies: Sequence[Remedy], yes: bool) -> bool:
    """Say what will be done, and whether the user agrees. Raises UsageError where nobody can."""
    if not remedies:
        screen.say("There is nothing to mend.")
        return False
    screen.say("To be done:")
    for will in dict.fromkeys(one.will for one in remedies):
        screen.say(f"  {will}")
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("Mending without a terminal needs --yes. Nothing was changed.")
    screen.ask("Do it? [y/N] ")
    if is_yes(sys.stdin.readline()):
        return True
    screen.say("Nothing was changed.")
    return False


# --- telling ------------------------------------------------------------------------------------


def _tell(screen: Screen, results: Sequence[Result]) -> None:
    """A line for each check, and under it what is to be known of it."""
    marks = MARKS if _is_utf8(sys.stdout) else PLAIN_MARKS
    for result in results:
        for line in _lines(result, marks):
            screen.show(Text(line))


def _lines(result: Result, marks: Mapping[str, str]) -> Iterator[str]:
    mark = marks[result.state]
    told = [one for one in result.findings if one.state != "ok"]
    if not told:
        said = " ".join(one.text for one in result.findings)
        yield f"{mark} {result.check.name}: {said}"
        return
    yield f"{mark} {result.check.name}"
    for one in told:
        can = " --fix mends it." if one.remedy is not None else ""
        yield f"    {marks[one.state]} {one.text}{can}"


class _Told(msgspec.Struct, frozen=True):
    state: str
    text: str
    fixable: bool


class _Looked(msgspec.Struct, frozen=True):
    name: str
    state: str
    findings: Sequence[_Told]


class _Report(msgspec.Struct, frozen=True):
    """What `--json` prints."""

    home: str
    ok: bool
    checks: Sequence[_Looked]
    copies: Sequence[str]


def _as_json(home: str, results: Sequence[Result], copies: Copies) -> str:
    checks = [
        _Looked(
            result.check.name,
            result.state,
            [_Told(one.state, one.text, one.remedy is not None) for one in result.findings],
        )
        for result in results
    ]
    report = _Report(home, not _problem_left(results), checks, list(map(str, copies.made)))
    return msgspec.json.encode(report).decode("utf-8")


# --- the terminal itself ------------------------------------------------------------------------


def check_terminal(stream: TextIO, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether what is written there can be seen: its width, its colours, its letters."""
    if not _is_utf8(stream):
        yield Finding(
            "warning",
            f"The locale writes {stream.encoding}, in which Chinese and emoji become question "
            "marks. Set LANG to C.UTF-8 or another one with UTF-8.",
        )
    if not stream.isatty():
        yield Finding("ok", "This is no terminal: lines are written as they are.")
        return
    # Nought where the terminal doesn't say.
    columns = os.get_terminal_size(stream.fileno()).columns
    if 0 < columns < NARROW:
        yield Finding(
            "warning",
            f"The window has {columns} columns; below {NARROW} not everything is shown.",
        )
    plain = environment.get("NO_COLOR") or environment.get("TERM", "dumb") == "dumb"
    yield Finding("ok", f"{columns} columns, {'no colours' if plain else 'colours'}.")


def _is_utf8(stream: TextIO) -> bool:
    return codecs.lookup(stream.encoding or "ascii").name == "utf-8"
