"""The eraser: every store in turn, begun once, finished whatever happens, and read again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.errors import EraseBusy, EraseStopped, NotSaved, SessionInUse
from assistant.memory.erasing.eraser import Eraser, Receipt, merged
from assistant.protocols import Erasure, Match

TS = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)


@dataclass
class WordStore:
    """A store of numbered words in a file, one a line: `3 secret`."""

    name: str
    path: Path
    fault: Exception | None = None
    stays: str = ""
    while_erasing: Callable[[], None] = lambda: None

    @property
    def files(self) -> Sequence[str]:
        return [f"data/{self.path.name}"]

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return [Match("word", number, word) for number, word in self._held(erasure)]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        self.while_erasing()
        if self.fault is not None:
            raise self.fault
        if self.stays:
            return
        gone = dict(self._held(erasure))
        lines = self.path.read_text().splitlines()
        kept = [line for line in lines if line.partition(" ")[0] not in gone]
        self.path.write_text("".join(f"{line}\n" for line in kept))

    def count(self, erasure: Erasure) -> int:
        return len(self._held(erasure))

    def left(self, erasure: Erasure) -> str:
        return self.stays

    def _held(self, erasure: Erasure) -> list[tuple[str, str]]:
        pairs = (line.partition(" ") for line in self.path.read_text().splitlines())
        return [(number, word) for number, _, word in pairs if number in erasure.memos]


@dataclass
class Home:
    folder: Path
    claimed: list[Collection[str]] = field(default_factory=list)
    open_elsewhere: str | None = None

    def __post_init__(self) -> None:
        self.stores = [
            WordStore(name, self.folder / name, while_erasing=lambda: None)
            for name in ("first", "second", "third")
        ]
        for store in self.stores:
            store.path.write_text("1 secret\n2 harmless\n")

    @property
    def journal(self) -> Path:
        return self.folder / "erasing.json"

    def eraser(self) -> Eraser:
        return Eraser(
            self.stores, self.journal, claimed=self._claim, all_sessions=lambda: ["s1", "s2"]
        )

    @contextlib.contextmanager
    def _claim(self, sessions: Collection[str]) -> Iterator[None]:
        if self.open_elsewhere in sessions:
            raise SessionInUse("open", str(self.open_elsewhere))
        self.claimed.append(sorted(sessions))
        yield

    def texts(self) -> list[str]:
        return [store.path.read_text() for store in self.stores]


ERASED = "2 harmless\n"
WHOLE = "1 secret\n2 harmless\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def erasure(*memos: str, turns: dict[str, tuple[int, ...]] | None = None) -> Erasure:
    return Erasure("e1", TS, memos=memos, turns=turns or {})


def nobody(text: str) -> None:
    pass


def test_every_store_is_erased_and_read_again(home: Home) -> None:
    said: list[str] = []
    receipt = home.eraser().erase(erasure("1", turns={"s1": (3,)}), said.append)
    assert home.texts() == [ERASED] * 3
    assert [(one.store, one.gone, one.left) for one in receipt.stores] == [
        ("first", 1, 0),
        ("second", 1, 0),
        ("third", 1, 0),
    ]
    assert receipt.nothing_left
    assert home.claimed == [["s1"]]
    assert len(said) == 3
    assert not home.eraser().unfinished()


def test_a_preview_changes_nothing(home: Home) -> None:
    home.stores[1].path.write_text(ERASED)
    found = home.eraser().preview(erasure("1"))
    assert [(one.store, one.matches[0].text) for one in found] == [
        ("first", "secret"),
        ("third", "secret"),
    ]
    assert not home.journal.exists()


def test_what_stays_is_told_with_its_reason_and_kept_for_later(home: Home) -> None:
    home.stores[2].stays = "Another terminal has it."
    receipt = home.eraser().erase(erasure("1"), nobody)
    assert [(one.store, one.left, one.why) for one in receipt.remaining] == [
        ("third", 1, "Another terminal has it.")
    ]
    assert home.eraser().unfinished()
    home.stores[2].stays = ""
    finished = home.eraser().finish(nobody)
    assert finished is not None
    assert finished.nothing_left
    assert home.texts() == [ERASED] * 3
    assert not home.eraser().unfinished()


@pytest.mark.parametrize(
    "fault", [NotSaved("The disk is full"), OSError(28, "No space left on device")]
)
def test_a_store_that_cannot_be_written_stops_the_erase_until_it_can(
    home: Home, fault: Exception
) -> None:
    home.stores[1].fault = fault
    with pytest.raises(EraseStopped, match=r"stopped at the second.*Done: first\."):
        home.eraser().erase(erasure("1"), nobody)
    assert home.texts() == [ERASED, WHOLE, WHOLE]
    home.stores[1].fault = None
    assert _finished(home).nothing_left
    assert home.texts() == [ERASED] * 3


def test_a_process_killed_in_the_middle_leaves_it_to_the_next(home: Home) -> None:
    home.stores[1].fault = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        home.eraser().erase(erasure("1"), nobody)
    home.stores[1].fault = None
    assert _finished(home).nothing_left
    assert home.texts() == [ERASED] * 3


def test_an_open_session_is_found_before_anything_is_touched(home: Home) -> None:
    home.open_elsewhere = "s1"
    with pytest.raises(SessionInUse):
        home.eraser().erase(erasure("1", turns={"s1": (1,)}), nobody)
    assert home.texts() == [WHOLE] * 3
    assert not home.eraser().unfinished()
    assert home.eraser().finish(nobody) is None


def test_what_was_agreed_to_and_not_begun_is_not_carried_out(home: Home) -> None:
    home.stores[0].while_erasing = lambda: kept.append(home.journal.read_bytes())
    kept: list[bytes] = []
    home.eraser().erase(erasure("1"), nobody)
    home.journal.write_bytes(kept[0].replace(b'"begun"', b'"agreed"'))
    home.stores[0].path.write_text(WHOLE)
    assert home.eraser().unfinished()
    assert home.eraser().finish(nobody) is None
    assert home.texts()[0] == WHOLE
    assert not home.eraser().unfinished()


def test_finishing_asks_for_no_session_when_the_session_files_are_done(home: Home) -> None:
    home.stores[2].stays = "locked"
    home.eraser().erase(erasure("1", turns={"s1": (1,)}), nobody)
    home.stores[2].stays, home.open_elsewhere = "", "s1"
    assert _finished(home).nothing_left


def test_an_erase_takes_over_one_that_is_not_finished(home: Home) -> None:
    home.stores[2].stays = "locked"
    home.eraser().erase(erasure("1"), nobody)
    home.stores[2].stays = ""
    home.eraser().erase(erasure("2"), nobody)
    assert home.texts() == ["", "", ""]


def test_one_at_a_time(home: Home) -> None:
    def meanwhile() -> None:
        with pytest.raises(EraseBusy):
            home.eraser().erase(erasure("2"), nobody)
        with pytest.raises(EraseBusy):
            home.eraser().finish(nobody)

    home.stores[0].while_erasing = meanwhile
    assert home.eraser().erase(erasure("1"), nobody).nothing_left
    assert home.texts() == [ERASED] * 3


def test_what_is_written_down_holds_no_word(home: Home) -> None:
    seen: list[bytes] = []
    home.stores[0].while_erasing = lambda: seen.append(home.journal.read_bytes())
    home.eraser().erase(erasure("1"), nobody)
    assert b"secret" not in seen[0]
    assert home.journal.parent.stat().st_mode & 0o077 == 0


def test_everything_claims_every_session(home: Home) -> None:
    home.eraser().erase(Erasure("e1", TS, everything=True), nobody)
    assert home.claimed == [["s1", "s2"]]


def test_a_journal_that_cannot_be_read_is_told(home: Home) -> None:
    home.journal.write_bytes(b"{")
    with pytest.raises(EraseStopped, match="can't be read"):
        home.eraser().finish(nobody)


def test_merging_loses_nothing() -> None:
    one = Erasure("e1", TS, turns={"s1": (1, 2)}, facts=("f1",), lines={"s1": ("aa",)})
    two = Erasure("e2", TS, turns={"s1": (2, 5), "s2": (1,)}, memos=("m1",), everything=True)
    both = merged(one, two)
    assert both == Erasure(
        "e2",
        TS,
        turns={"s1": (1, 2, 5), "s2": (1,)},
        facts=("f1",),
        lines={"s1": ("aa",)},
        memos=("m1",),
        everything=True,
    )
    assert set(Erasure.__struct_fields__) == set(both.__struct_fields__)


def _finished(home: Home) -> Receipt:
    receipt = home.eraser().finish(nobody)
    assert receipt is not None
    return receipt
