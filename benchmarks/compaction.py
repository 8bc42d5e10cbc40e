"""What is still known after rounds of compaction, of things planted in conversations.

    python -m benchmarks.compaction [--model vague | local | settings] [--seeds N] [--rounds N]
                                    [--density N ...] [--tokens N]

Each conversation is a real session, each round a real summary with its kept section. `vague` is a
model that answers every request for a summary with one empty sentence; `local` is the embedded
model; `settings` is whatever the settings and the environment name.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import get_args

from assistant.app import build_app, read_prompt
from assistant.errors import CompactionError
from assistant.memory.compaction.kept import kept_lines
from assistant.memory.compaction.summarizer import Summarizer, SummaryBounds, SummaryPrompts
from assistant.memory.recall.log_search import search_logs
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import Language, Message, Summary
from assistant.prompt import ToolSchema
from assistant.protocols import ChatModel, ReplyPart, TokenCounter
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for
from assistant.settings import find_home, load_settings
from benchmarks.planted import KINDS, Planted, PlantedKind, Talk, conversation
from benchmarks.table import Aim, table_text

DENSITIES = (4, 6, 7, 8, 10, 12)
USUAL = 7
AIMED: tuple[PlantedKind, ...] = ("rule", "code", "date", "amount")
BEGINNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class VagueModel:
    """Summarizes badly on purpose: one sentence that holds nothing, in the right language."""

    name = "vague"
    address = "nowhere"

    def load(self) -> None:
        pass

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        return json.dumps(tools)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        chinese = "记录" in messages[0].text
        yield ReplyPart(
            "用户和助手聊了几件日常的事情，还说了一些计划。"
            if chinese
            else "The user and the assistant talked about several plans and everyday things.",
            finish_reason="stop",
        )

    def another(self, name: str | None = None) -> ChatModel:
        return self

    def context_window(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Tally:
    """What was asked for and what was there, over conversations."""

    asked: Counter[PlantedKind] = field(default_factory=Counter)
    known: Counter[PlantedKind] = field(default_factory=Counter)
    found: Counter[PlantedKind] = field(default_factory=Counter)
    """Known, or found by searching the session for what it is about."""
    stale: int = 0
    """Corrected values that some line still gives as they were."""
    tokens: list[int] = field(default_factory=list)
    """Of the kept section."""
    failed: int = 0
    """Rounds in which no summary could be used: everything stays, nothing is lost."""

    def share(self, kind: PlantedKind, counted: Counter[PlantedKind] | None = None) -> float | None:
        counted = self.known if counted is None else counted
        return counted[kind] / self.asked[kind] if self.asked[kind] else None


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder, _model(options.model, Path(folder)) as model:
        counter = TiktokenCounter(encoding_for(model.name))
        run = _Run(Path(folder), model, counter, options.tokens, options.seeds)
        _report(run, options.rounds, options.density)


@contextmanager
def _model(choice: str, folder: Path) -> Iterator[ChatModel]:
    if choice == "vague":
        yield VagueModel()
        return
    environment = dict(os.environ) if choice == "settings" else {}
    home = find_home(environment) if choice == "settings" else folder
    app = build_app(load_settings(home, environment), titles="words", environment=environment)
    with closing(app):
        yield app.pipeline.model


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compaction", description=__doc__)
    parser.add_argument("--model", choices=("vague", "local", "settings"), default="vague")
    parser.add_argument("--seeds", type=int, default=6, help="conversations of each language")
    parser.add_argument("--rounds", type=int, default=5, help="compactions of each conversation")
    parser.add_argument("--tokens", type=int, default=400, help="the most the kept section takes")
    parser.add_argument("--density", type=int, nargs="*", help="things planted a round")
    return parser.parse_args()


# --- running ------------------------------------------------------------------------------------


class _Run:
    """Conversations through rounds of compaction, with one model and one bound."""

    def __init__(
        self, folder: Path, model: ChatModel, counter: TokenCounter, tokens: int, seeds: int
    ) -> None:
        self.model = model
        self.tokens = tokens
        self.seeds = seeds
        self._counter = counter
        self._folder = folder
        self._minutes = count()
        self._stores = count()
        self._summarizer = Summarizer(
            lambda: model.another(None),
            counter,
            {
                language: SummaryPrompts(
                    read_prompt(folder, f"summary.{language}"),
                    read_prompt(folder, f"shorten.{language}"),
                )
                for language in get_args(Language)
            },
            SummaryBounds(kept_tokens=tokens),
            window=lambda: model.context_window() or 8_192,
            clock=self._clock,
        )

    def _clock(self) -> datetime:
        return BEGINNING + timedelta(minutes=next(self._minutes))

    def _empty_store(self) -> SessionStore:
        return SessionStore(
            self._folder / f"sessions-{next(self._stores)}",
            self._folder / "data",
            clock=self._clock,
            new_id=lambda: "planted",
        )

    def tallies(self, rounds: int, density: int) -> list[Tally]:
        """One for each round, over all conversations."""
        tallies = [Tally() for _ in range(rounds)]
        for talk in get_args(Talk):
            for seed in range(self.seeds):
                self._converse(seed, talk, density, tallies)
        return tallies

    def _converse(self, seed: int, talk: Talk, density: int, tallies: list[Tally]) -> None:
        store = self._empty_store()
        said: list[Planted] = []
        covered = 0
        with closing(store.create()) as session:
            rounds = conversation(seed, talk, len(tallies), density)
            for tally, (turns, planted) in zip(tallies, rounds, strict=True):
                for turn in turns:
                    session.ask(turn.user)
                    session.answer(Message("assistant", turn.assistant, turn=session.turns))
                said += planted
                covered = self._compact(session, covered, tally)
                self._judge(store, session, said, covered, tally)

    def _compact(self, session: Session, covered: int, tally: Tally) -> int:
        """All turns there are, which is more than the program would: none stays word for word."""
        history, before = session.history, session.summary
        messages = history.slice(range(covered, len(history)))
        try:
            summary = self._summarizer.summarize(messages, before)
        except CompactionError:
            tally.failed += 1
            return covered
        session.summarize(summary, after=before)
        tally.tokens.append(self._counter.count(kept_lines(summary.kept)))
        return len(history)

    def _judge(
        self, store: SessionStore, session: Session, said: list[Planted], covered: int, tally: Tally
    ) -> None:
        history = session.history
        waiting = [one.text for one in history.slice(range(covered, len(history)))]
        heard = {one.text for one in history.slice(range(len(history)))}
        lines = [*_lines(session.summary), *waiting]
        for planted in said:
            # A correction counts from when it was made.
            if planted.says[-1] not in heard:
                continue
            tally.asked[planted.kind] += 1
            known = any(_tells(line, planted.value, planted.about) for line in lines)
            tally.known[planted.kind] += known
            tally.found[planted.kind] += known or _found(store, planted)
            tally.stale += bool(planted.old) and _is_stale(lines, planted)


def _lines(summary: Summary | None) -> list[str]:
    if summary is None:
        return []
    text = re.split(r"[\n。！？]|(?<=[.!?])\s", summary.text)
    return [*text, *kept_lines(summary.kept).splitlines()]


def _tells(line: str, value: str, about: str) -> bool:
    return _plain(value) in _plain(line) and _plain(about) in _plain(line)


def _is_stale(lines: Sequence[str], planted: Planted) -> bool:
    told = [line for line in lines if _tells(line, planted.old, planted.about)]
    return any(_plain(planted.value) not in _plain(line) for line in told)


def _found(store: SessionStore, planted: Planted) -> bool:
    words = " ".join(f'"{word}"' for word in planted.about.split())
    return any(
        _tells(f"{one.exchange.user}\n{one.exchange.assistant}", planted.value, planted.about)
        for one in search_logs(store, words, 5)
    )


def _plain(text: str) -> str:
    """Case, spaces and the signs around figures make no difference."""
    return re.sub(r"[\s,€$¥元块]|euros|usd", "", text.casefold())


# --- reporting ----------------------------------------------------------------------------------


def _report(run: _Run, rounds: int, densities: Sequence[int] | None) -> None:
    chosen = tuple(densities or (DENSITIES if run.model.name == "vague" else (USUAL,)))
    usual = USUAL if USUAL in chosen else chosen[0]
    results = {density: run.tallies(rounds, density) for density in chosen}
    conversations = len(get_args(Talk)) * run.seeds
    print(f"Summaries by {run.model.name}, {conversations} conversations of {rounds} rounds,")
    print(f"kept section of {run.tokens} tokens at most. Share still known, in %.\n")
    print(f"{usual} things planted a round, after each round\n")
    heads = ("round", *KINDS, "old told", "found", "kept tokens", "failed")
    rows = [_row(str(number), one) for number, one in enumerate(results[usual], 1)]
    print(table_text(heads, rows))
    if len(chosen) > 1:
        print(f"\nAfter {rounds} rounds, by how much is planted\n")
        rows = [_row(f"{density} a round", results[density][-1]) for density in chosen]
        print(table_text(("planted", *heads[1:]), rows))
    print()
    for aim in _aims(results[usual][-1], usual, rounds):
        print(aim)


def _row(name: str, tally: Tally) -> Sequence[str]:
    asked, found = tally.asked.total(), tally.found.total()
    return (
        name,
        *(_percent(tally.share(kind)) for kind in KINDS),
        str(tally.stale),
        _percent(found / asked if asked else None),
        f"{statistics.mean(tally.tokens):.0f}" if tally.tokens else "-",
        str(tally.failed),
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _aims(last: Tally, density: int, rounds: int) -> Sequence[Aim]:
    asked = sum(last.asked[kind] for kind in AIMED)
    known = sum(last.known[kind] for kind in AIMED)
    text = f"rules, codes, dates, amounts after {rounds} rounds, {density} a round, at least 0.95"
    corrected = last.share("correction")
    return (
        Aim(text, known / asked if asked else None, at_least=0.95),
        Aim("corrections known as corrected, at least 0.9", corrected, at_least=0.9),
        Aim("old values told as if they held, none", float(last.stale), at_most=0),
    )


if __name__ == "__main__":
    main()
