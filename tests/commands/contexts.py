"""What a group of commands works on in its tests, and nothing else."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

from assistant.commands.context import CommandContext
from assistant.commands.registry import CommandGroup, CommandRegistry
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.protocols import Stores


def context_of(
    session: Session, store: SessionStore, group: CommandGroup, **stores: object
) -> CommandContext:
    """`stores` are those the commands need, by the names they have in `Stores`."""
    none = cast(Any, None)
    return CommandContext(
        session=session,
        store=store,
        pipeline=none,
        settings=none,
        registry=CommandRegistry([group]),
        indexer=none,
        stores=cast(Stores, SimpleNamespace(**stores)),
        make_eraser=none,
        make_forgetting=none,
        at_rest=nullcontext,
        opened=lambda session: None,
        left=lambda session: None,
    )
