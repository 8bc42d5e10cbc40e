"""What an erasure means for the log of memos."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from assistant.memory.erasing.erasures import goes
from assistant.memory.memos import MemoChanged, MemoDeleted, MemoRecord, MemoSaved
from assistant.protocols import Erasure, Match


class ErasedMemos:
    """Which memos go, with all the texts they had; of the others the source may."""

    def __init__(self, erasure: Erasure, records: Sequence[MemoRecord]) -> None:
        self._erasure = erasure
        ids = {record.id for record in records}
        self._gone = ids if erasure.everything else ids & set(erasure.memos)
        self._texts: dict[str, str] = {}
        for record in records:
            if not isinstance(record, MemoDeleted) and record.text is not None:
                self._texts[record.id] = record.text
        self._names = [f'"{one}"'.encode() for one in {*self._gone, *erasure.memos}]

    def matches(self) -> Sequence[Match]:
        return [Match("memo", one, self._texts.get(one, "")) for one in sorted(self._gone)]

    def names(self, line: bytes) -> bool:
        return any(one in line for one in self._names)

    def changed(self, record: MemoRecord) -> MemoRecord | None:
        match record:
            case _ if record.id in self._gone:
                return None
            case MemoSaved() if goes(self._erasure, record.source):
                return replace(record, source="")
            case MemoSaved() | MemoChanged() | MemoDeleted():
                return record
