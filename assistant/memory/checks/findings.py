"""What a check of the home finds, what would mend it, and the copies kept of what is mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from assistant.errors import AssistantError
from assistant.memory.files import make_folder, write_atomically

State: TypeAlias = Literal["ok", "warning", "problem", "fixed"]

#: The folder of the copies, relative to the home.
COPIES = Path("data", "before-doctor")


class Copies:
    """Copies of files as they were before they were mended, made when they are first needed."""

    def __init__(self, home: Path, stamp: str) -> None:
        """`stamp` tells the copies of this run from those of others."""
        self.folder = home / COPIES
        self.made: list[Path] = []
        self._stamp = stamp

    def keep(self, path: Path) -> None:
        """Copy a file (0600). Raises OSError: then it must not be changed."""
        make_folder(self.folder)
        name = f"{path.name}.before-{self._stamp}"
        copy = self.folder / name
        number = 1
        while copy.exists():
            number += 1
            copy = self.folder / f"{name}-{number}"
        write_atomically(copy, path.read_bytes())
        self.made.append(copy)


@dataclass(frozen=True)
class Remedy:
    """What mends a finding, once the user agrees."""

    will: str
    """What will be done, as a sentence."""
    apply: Callable[[Copies], None]
    """Does it. May be done twice. Raises AssistantError or OSError, and has changed nothing then.
    """


@dataclass(frozen=True)
class Finding:
    """One thing a check found."""

    state: State
    text: str
    """What it is, whether anything is lost, and what to do."""
    remedy: Remedy | None = None


@dataclass(frozen=True)
class Check:
    """One thing that is looked at: adding a check is one function that gives findings."""

    name: str
    look: Callable[[], Iterable[Finding]]
    """Looks, and changes nothing."""


@dataclass(frozen=True)
class Result:
    """What one check found, never nothing."""

    check: Check
    findings: Sequence[Finding]

    @property
    def state(self) -> State:
        """The worst of its findings."""
        return max((one.state for one in self.findings), key=_SEVERITY.index)

    @property
    def remedies(self) -> Sequence[Remedy]:
        return [one.remedy for one in self.findings if one.remedy is not None]


_SEVERITY: tuple[State, ...] = ("ok", "fixed", "warning", "problem")


def looked(check: Check) -> Result:
    """Do a check. What it can't look at is a finding, too."""
    try:
        findings = tuple(check.look())
    except AssistantError as error:
        findings = (Finding("problem", str(error)),)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        findings = (Finding("problem", f"It can't be looked at ({what}{_reason(error)})."),)
    return Result(check, findings or (Finding("ok", "In order."),))


def mended(result: Result, copies: Copies) -> Result:
    """Apply the remedies of a check and look again: what it says now is what is on the disk."""
    fixed: list[Finding] = []
    for remedy in result.remedies:
        try:
            remedy.apply(copies)
        except (AssistantError, OSError) as error:
            reason = str(error) if isinstance(error, AssistantError) else _reason(error)
            fixed.append(Finding("problem", f"Not done: {remedy.will} {reason}"))
        else:
            fixed.append(Finding("fixed", f"Done: {remedy.will}"))
    if not fixed:
        return result
    return Result(result.check, (*fixed, *looked(result.check).findings))


def some(things: Sequence[object], shown: int) -> str:
    """The first `shown` of them, and how many more there are."""
    more = f" and {len(things) - shown:,} more" if len(things) > shown else ""
    return f"{', '.join(map(str, things[:shown]))}{more}"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
