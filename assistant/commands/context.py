"""What a command works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assistant.commands.outputs import Text
from assistant.errors import SessionError, UsageError
from assistant.memory.indexer import Indexer
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.protocols import Change, Stores
from assistant.settings import LoadedSettings
from assistant.turn import Pipeline, Turn

if TYPE_CHECKING:
    from assistant.commands.registry import CommandRegistry


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
    opened: Callable[[Session], None]
    """Told when another session becomes the one at hand."""
    left: Callable[[Session], None]
    """Told of the one that is left, once it is closed."""
    last_turn: Turn | None = None
    changes: list[Change] = field(default_factory=list)
    """What /undo-last can take back, the newest last."""

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

    def switch_to(self, session: Session) -> None:
        """Make another session the one at hand, and let the old one go.

        Raises SessionError when that would lose what the disk did not take.
        """
        if self.session.unsaved:
            session.close()
            raise SessionError(
                f"{self.session.unsaved} records of this conversation are not saved yet "
                f"({self.session.saving_failure}). Leaving it would lose them, so nothing was "
                "changed. Make room on the disk and say something, or leave with /exit."
            )
        self.session.close()
        self.left(self.session)
        self.session = session
        self.last_turn = None
        self.opened(session)
