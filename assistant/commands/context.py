"""What a command works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from assistant.commands.outputs import Text
from assistant.errors import SessionError, UsageError
from assistant.memory.recall.indexer import Indexer
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.protocols import Change, Erasure, Stores
from assistant.settings import LoadedSettings
from assistant.turn import Pipeline, Turn

if TYPE_CHECKING:
    from assistant.commands.registry import CommandRegistry
    from assistant.memory.erasing.eraser import Eraser
    from assistant.memory.erasing.forgetting import Forgetting


@dataclass
class CommandContext:
    """The conversation at hand, and what stands around it. Commands may change what it holds."""

    session: Session
    store: SessionStore
    pipeline: Pipeline
    settings: LoadedSettings
    registry: CommandRegistry
    indexer: Indexer
    stores: Stores
    make_eraser: Callable[[], Eraser]
    make_forgetting: Callable[[], Forgetting]
    at_rest: Callable[[], AbstractContextManager[None]]
    """Held while something is erased: nothing is written in the background then."""
    opened: Callable[[Session], None]
    """Told when another session becomes the one at hand."""
    left: Callable[[Session], None]
    """Told of the one that is left, once it is closed."""
    last_turn: Turn | None = None
    changes: list[Change] = field(default_factory=list)
    """What /undo-last can take back, the newest last."""
    forgotten: Callable[[Erasure | None], None] = lambda erasure: None
    """Told what was erased, so that the terminal forgets it, too; None when that isn't known."""

    @cached_property
    def eraser(self) -> Eraser:
        return self.make_eraser()

    @cached_property
    def forgetting(self) -> Forgetting:
        return self.make_forgetting()

    def require_kept(self, thing: str) -> None:
        """Raises UsageError in a private session, of which nothing is kept, so no `thing` is."""
        if self.session.private:
            raise UsageError(
                f"This conversation is private: nothing of it is kept, so no {thing} was written "
                "or changed. Say it again in one that is not (`assistant` without --private)."
            )

    def changed(self, change: Change) -> Text:
        """Remember what was written, and say so."""
        self.changes.append(change)
        return Text(f"✓ {change.text} · /undo-last takes it back")

    @contextmanager
    def stepping_aside(self, erasure: Erasure | None) -> Iterator[None]:
        """Let go of the session at hand while something is erased, and read it anew after that.

        Nothing that is remembered of it outside its file can bring anything back then.
        """
        session = self.session
        self._require_saved()
        with self.at_rest():
            session.close()
            try:
                yield
            finally:
                self.changes.clear()
                self.last_turn = None
                self.forgotten(erasure)
                if not session.private:
                    self._read_anew(session)

    def _read_anew(self, session: Session) -> None:
        """The session as it is now; a new one where it is gone, or another terminal has it."""
        try:
            self.session = self.store.open(session.id, read_only=session.read_only)
        except SessionError:
            self.session = self.store.create()
        self.opened(self.session)

    def _require_saved(self) -> None:
        if self.session.unsaved:
            raise SessionError(
                f"{self.session.unsaved} records of this conversation are not saved yet "
                f"({self.session.saving_failure}). Leaving it would lose them, so nothing was "
                "changed. Make room on the disk and say something, or leave with /exit."
            )

    def switch_to(self, session: Session) -> None:
        """Make another session the one at hand, and let the old one go.

        Raises SessionError when that would lose what the disk did not take.
        """
        try:
            self._require_saved()
        except SessionError:
            session.close()
            raise
        self.session.close()
        self.left(self.session)
        self.session = session
        self.last_turn = None
        self.opened(session)
