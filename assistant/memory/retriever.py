"""stub"""

from __future__ import annotations
from collections.abc import Callable
from datetime import datetime
from assistant.memory.assembly import Shares
from assistant.memory.indexer import Indexer
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.prompt import Recollection
from assistant.protocols import TokenCounter


class Retriever:
    def __init__(
        self,
        indexer: Indexer,
        store: SessionStore,
        counter: TokenCounter,
        clock: Callable[[], datetime],
    ) -> None:
        pass

    def recall(self, session: Session, shares: Shares) -> Recollection:
        return Recollection()

    def look_up(self, text: str, session_id: str, room: int) -> Recollection:
        return Recollection()
