"""Erasing from every store at once: begun once, finished whatever happens, and read again after.

What is to go is written down first, as numbers and digests in `data/erasing.json`. From then on the
erase is going to happen: a process that is killed leaves the file, and the next start goes on. A
store that can't be written now keeps it there, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from assistant.errors import AssistantError, EraseBusy, EraseStopped, NotSaved
from assistant.memory.erasing.erasures import sessions_of
from assistant.memory.files import make_folder
from assistant.memory.shared_file import replace_file
from assistant.protocols import Erasable, Erasure, Match

Say: TypeAlias = Callable[[str], None]


class Found(msgspec.Struct, frozen=True):
    """What one store holds of what is to go."""

    store: str
    matches: Sequence[Match]


class Left(msgspec.Struct, frozen=True):
    """One line of a receipt: what went out of a store, and what it holds still."""

    store: str
    gone: int
    left: int
    why: str = ""
    """Why something stays, in a sentence."""


class Receipt(msgspec.Struct, frozen=True):
    """What an erase has come to: each store was read again for it."""

    stores: Sequence[Left]

    @property
    def remaining(self) -> Sequence[Left]:
        """The stores that hold something still."""
        return [one for one in self.stores if one.left or one.why]

    @property
    def nothing_left(self) -> bool:
        return not self.remaining


class _Journal(msgspec.Struct, frozen=True):
    """What is kept while an erase is under way."""

    stage: Literal["agreed", "begun"]
    """`agreed`: nothing was touched yet."""
    erasure: Erasure


_decoder = msgspec.json.Decoder(_Journal)


def can_be_read(journal: Path) -> bool:
    """Whether an erase that was broken off can be finished from what it left."""
    try:
        _decoder.decode(journal.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return True


class Eraser:
    """Knows every store. The session files come first: they are what all others derive from."""

    def __init__(
        self,
        stores: Sequence[Erasable],
        journal: Path,
        *,
        claimed: Callable[[Collection[str]], AbstractContextManager[None]],
        all_sessions: Callable[[], Collection[str]],
    ) -> None:
        """`claimed` keeps other processes out of sessions while a block lasts."""
        self.stores = stores
        self._journal = journal
        self._claimed = claimed
        self._all_sessions = all_sessions

    @property
    def files(self) -> Sequence[str]:
        """Patterns of every file that an erase reaches, relative to the home."""
        own = [f"data/{self._journal.name}", f"data/{self._lock_path.name}"]
        return [*own, *(pattern for store in self.stores for pattern in store.files)]

    def preview(self, erasure: Erasure) -> Sequence[Found]:
        """What would go, store by store; those that hold none of it are left out."""
        found = (Found(store.name, store.matches(erasure)) for store in self.stores)
        return [one for one in found if one.matches]

    def erase(self, erasure: Erasure, say: Say) -> Receipt:
        """Erase it everywhere, and read every store again.

        Raises EraseBusy when another process is erasing, or SessionInUse when one has a session
        open: nothing was touched then. Raises EraseStopped when a store can't be written: what is
        left is done at the next start, or by `finish`.
        """
        with self._alone():
            before = self._begun()
            # An earlier one that could not be finished is part of this one now.
            erasure = erasure if before is None else merged(before, erasure)
            if before is None:
                self._write("agreed", erasure)
            try:
                with self._claimed(self._touched(erasure)):
                    self._write("begun", erasure)
                    return self._carry_out(erasure, say)
            except BaseException:
                # One that has not begun leaves no trace; one that has will be finished.
                if self._begun() is None:
                    self._remove_journal()
                raise

    def unfinished(self) -> bool:
        """Whether an erase was begun, here or in another process, and is not over. One look."""
        return self._journal.exists()

    def is_under_way(self, erasure: Erasure) -> bool:
        """Whether this erase has begun and is not over."""
        begun = self._begun()
        return begun is not None and begun.id == erasure.id

    def finish(self, say: Say) -> Receipt | None:
        """Go on with an erase that was broken off; None when there was none, or it had not begun.

        Raises what `erase` does.
        """
        with self._alone():
            begun = self._begun()
            if begun is None:
                self._remove_journal()
                return None
            sessions, *_ = self.stores
            # Most often they are done, and one that is open somewhere is in nobody's way.
            touched = self._touched(begun) if sessions.count(begun) else ()
            with self._claimed(touched):
                return self._carry_out(begun, say)

    # --- how it is done -------------------------------------------------------------------------

    def _carry_out(self, erasure: Erasure, say: Say) -> Receipt:
        lines = []
        for number, store in enumerate(self.stores, 1):
            say(f"Erasing: {store.name} ({number} of {len(self.stores)})")
            try:
                before = store.count(erasure)
                store.erase(erasure, say)
                left, why = store.count(erasure), store.left(erasure)
            except (AssistantError, OSError) as error:
                raise _stopped(store, self.stores[: number - 1], error) from error
            lines.append(Left(store.name, max(0, before - left), left, why))
        receipt = Receipt(lines)
        if not any(one.left for one in lines):
            self._remove_journal()
        return receipt

    def _touched(self, erasure: Erasure) -> Collection[str]:
        return self._all_sessions() if erasure.everything else sessions_of(erasure)

    # --- what is kept meanwhile -----------------------------------------------------------------

    def _begun(self) -> Erasure | None:
        """What an erase that was broken off still has to erase."""
        journal = self._read()
        return journal.erasure if journal is not None and journal.stage == "begun" else None

    def _read(self) -> _Journal | None:
        try:
            return _decoder.decode(self._journal.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise EraseStopped(
                f"{self._journal} can't be read ({error}). It says what an erase that was begun "
                "still has to do. Nothing was changed. Remove that file, and erase again."
            ) from error

    def _write(self, stage: Literal["agreed", "begun"], erasure: Erasure) -> None:
        try:
            make_folder(self._journal.parent)
            # The disk has it before anything is erased: without it the rest would be forgotten.
            replace_file(self._journal, msgspec.json.encode(_Journal(stage, erasure)))
        except (OSError, NotSaved) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise EraseStopped(
                f"What is to be erased can't be written down: {reason} Nothing was erased. Make "
                "room on the disk and erase again."
            ) from error

    def _remove_journal(self) -> None:
        with contextlib.suppress(OSError):
            self._journal.unlink(missing_ok=True)

    @property
    def _lock_path(self) -> Path:
        return self._journal.with_name(f".{self._journal.name}.lock")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One erase at a time on this home."""
        import filelock  # here, because the prompt need not wait for it

        try:
            make_folder(self._journal.parent)
            lock = filelock.FileLock(self._lock_path, mode=0o600)
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise EraseBusy(
                "Another terminal is erasing just now. Nothing was erased here. Wait for it, and "
                "erase again."
            ) from None
        except OSError as error:
            raise EraseStopped(
                f"{self._lock_path} can't be locked: {error.strerror}. Nothing was erased. Check "
                "its permissions and the room on its disk."
            ) from error
        try:
            yield
        finally:
            lock.release()


def merged(one: Erasure, other: Erasure) -> Erasure:
    """What erases both."""
    values: dict[str, Any] = {}
    for name in one.__struct_fields__:
        mine, more = getattr(one, name), getattr(other, name)
        if isinstance(mine, Mapping):
            keys = {**mine, **more}
            values[name] = {key: _both(mine.get(key, ()), more.get(key, ())) for key in keys}
        elif isinstance(mine, tuple):
            values[name] = _both(mine, more)
    values["everything"] = one.everything or other.everything
    return msgspec.structs.replace(other, **values)


def _both(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(sorted({*one, *other}))


def _stopped(store: Erasable, done: Sequence[Erasable], error: Exception) -> EraseStopped:
    names = ", ".join(one.name for one in done) or "nothing yet"
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error).rstrip(".")
    return EraseStopped(
        f"The erase stopped at the {store.name}: {reason}. Done: {names}. The rest is done at the "
        "next start, or by /forget resume (`assistant forget --resume`)."
    )
