"""What is known about a user after sixty days of chat, and what holding it costs.

    python -m benchmarks.facts [--model script | nothing | embedded | settings] [--days N] [--show]

`data/facts_life.json` tells a life in ordinary sentences, English and Chinese: 40 things, of which
15 change and 5 are taken back, among requests that say nothing lasting. Each day is a session.
`script` proposes the right lines, and wrong ones for the requests; `nothing` proposes none, so that
only what the wording tells by itself is kept; `embedded` is the embedded
model; `settings` is whatever the settings and the environment name. Every question is answered from
the facts alone: those in force at its time must hold the value, and no other value of that thing.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count, groupby, pairwise
from pathlib import Path
from typing import get_args

import msgspec
from platformdirs import user_cache_path

from assistant.app import build_app, read_prompt
from assistant.errors import ChatModelError, WrongEntry
from assistant.memory.facts.fact_extractor import TOGETHER, FactExtractor
from assistant.memory.facts.fact_rules import statement
from assistant.memory.facts.fact_text import facts_block
from assistant.memory.facts.facts import FactRecord, Facts
from assistant.messages import Exchange, Fact, Language, Message, Moment
from assistant.prompt import ToolSchema
from assistant.protocols import ChatModel, ReplyPart, TokenCounter
from assistant.providers.local_chat import LocalChat
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for
from assistant.settings import find_home, load_settings
from benchmarks.table import Aim, table_text

DATA = Path(__file__).parent / "data" / "facts_life.json"
BEGINNING = datetime(2026, 9, 30, 9, 0, tzinfo=UTC)
DAYS = 60
ROOM = 1_000
WINDOW = 4_096
FEW, MANY = 100, 2_000
REPEATS = 15


class Said(msgspec.Struct, frozen=True):
    """A sentence, what a perfect extractor makes of it, and what is right from then on."""

    day: int
    user: str
    line: str
    value: str = ""


class Topic(msgspec.Struct, frozen=True):
    topic: str
    now: str
    said: tuple[Said, ...]
    then: str = ""


class Life(msgspec.Struct, frozen=True):
    topics: tuple[Topic, ...]
    noise: tuple[Said, ...]


class Question(msgspec.Struct, frozen=True):
    """What is asked of the facts in force at a moment."""

    topic: str
    text: str
    moment: datetime
    value: str
    """Empty: none of the wrong ones must hold."""
    wrong: tuple[str, ...]
    sort: str


class StandingClock:
    """Times for a life that is told: only what it says now."""

    def __init__(self) -> None:
        self.time = BEGINNING

    def now(self) -> datetime:
        return self.time

    def moment(self, text: str, now: datetime | None = None) -> Moment:
        raise WrongEntry("No day is reckoned with here.", "")

    def stretch(self, text: str) -> Moment:
        raise WrongEntry("No day is reckoned with here.", "")

    def leading(self, text: str) -> tuple[Moment, str]:
        raise WrongEntry("No day is reckoned with here.", "")

    def repeat(self, text: str) -> str:
        raise WrongEntry("No day is reckoned with here.", "")


class ScriptModel:
    """Proposes what the script says of each sentence it is shown."""

    name = "script"
    address = "nowhere"

    def __init__(self, life: Life) -> None:
        self._lines: dict[str, str] = {one.user: one.line for one in life.noise}
        self._before: dict[str, str] = {}
        for topic in life.topics:
            for earlier, one in zip((None, *topic.said), topic.said, strict=False):
                self._lines[one.user] = one.line
                if earlier is not None:
                    self._before[one.user] = earlier.line.split("|")[-1].strip()

    def load(self) -> None:
        pass

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        return ""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        request = messages[-1].text
        ids = {text: one for one, text in re.findall(r"^(f[a-z]+): (.+)$", request, re.MULTILINE)}
        lines = []
        for user, line in self._lines.items():
            if _shown(user) not in request:
                continue
            verb, bar, rest = line.partition(" | ")
            old = ids.get(self._before.get(user, ""), "")
            if verb == "END" and not old:
                # The fact it ends is not known yet: all there is to say is what the user said.
                lines.append(f"ADD | {re.split('[,，.。]', user)[0]}")
            else:
                lines.append(f"{verb} {old}{bar}{rest}" if verb != "ADD" else line)
        yield ReplyPart("\n".join(lines) or "NOTHING", finish_reason="stop")

    def another(self, name: str | None = None) -> ChatModel:
        return self

    def context_window(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is open."""


def _shown(user: str) -> str:
    """As much of a sentence as is shown to a model: quotations are left out."""
    return re.split(r"[\"`]", user)[0].strip()


def main() -> None:
    options = _options()
    life = msgspec.json.decode(DATA.read_bytes(), type=Life)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with _model(options.model, life) as model:
            counter = TiktokenCounter(encoding_for(model.name))
            orders: Sequence[tuple[str, bool]] = (("as it was told", False),)
            if options.model == "script":
                orders = (*orders, ("every fourth day read last", True))
            aims = [
                aim
                for name, late in orders
                for aim in _tell(life, model, counter, place, options, name, late)
            ]
        if options.model == "script":
            aims += _costs(place, counter)
    print()
    for aim in aims:
        print(aim)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.facts", description=__doc__)
    parser.add_argument(
        "--model", choices=("script", "nothing", "embedded", "settings"), default="script"
    )
    parser.add_argument("--days", type=int, default=DAYS, help="only the first days of the life")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    return parser.parse_args()


@contextmanager
def _model(choice: str, life: Life) -> Iterator[ChatModel]:
    if choice in ("script", "nothing"):
        yield ScriptModel(life if choice == "script" else Life((), ()))
        return
    if choice == "embedded":
        with closing(
            LocalChat(
                user_cache_path("assistant", appauthor=False),
                None,
                threads=os.cpu_count() or 1,
                context_window=WINDOW,
                on_progress=lambda text: None,
            )
        ) as local:
            yield local
        return
    environment = dict(os.environ)
    home = find_home(environment)
    app = build_app(load_settings(home, environment), titles="words", environment=environment)
    with closing(app):
        yield app.pipeline.model


# --- what is known ------------------------------------------------------------------------------


def _tell(
    life: Life,
    model: ChatModel,
    counter: TokenCounter,
    folder: Path,
    options: argparse.Namespace,
    name: str,
    late: bool,
) -> Sequence[Aim]:
    """Tell the life day by day, ask, print a table."""
    clock = StandingClock()
    facts = Facts(folder / f"facts-{late}.jsonl", times=clock)
    extractor = FactExtractor(
        model.another,
        facts,
        counter,
        {one: read_prompt(folder, f"facts.{one}") for one in get_args(Language)},
        window=lambda: WINDOW,
        together=1 if options.model == "embedded" else TOGETHER,
    )
    days = [one for one in _days(life) if one[0] <= options.days]
    if late:
        days = [*(one for one in days if one[0] % 4), *(one for one in days if not one[0] % 4)]
    refused: list[tuple[str, str]] = []
    failed = 0
    started = time.perf_counter()
    for day, said in days:
        clock.time = _moment(day)
        exchanges = [
            Exchange(f"day{day}", turn, clock.time, one.user, "Let me see what I can do.")
            for turn, one in enumerate(said, 1)
        ]
        try:
            refused += extractor.extract(f"day{day}", exchanges).refused
        except ChatModelError as error:
            failed += 1
            print(f"day {day}: {error}")
    took = time.perf_counter() - started
    end = clock.time = _moment(options.days + 1)
    right, wrong = _answered(life, facts, options.days)
    junk = _junk(life, facts)
    block = facts_block(facts.in_force(end), counter.count, ROOM, "en")
    print(
        f"\n{options.model} ({model.name}), {name}: {len(days)} sessions, {took:,.1f} s, "
        f"{failed} failed"
    )
    print(
        table_text(
            ("asked", "questions", "right", "not known", "outdated"),
            [
                (sort, str(sum(tally)), *(str(one) for one in tally))
                for sort, tally in right.items()
            ],
        )
    )
    print(
        f"{len(facts.in_force(end))} facts in force in {block.tokens} tokens "
        f"({len(block.left_out)} left out), {len(facts.history())} in all; {len(refused)} lines "
        f"refused, {len(junk)} kept that the user never said of themselves"
    )
    if options.show:
        _show(wrong, junk, refused, facts.in_force(end))
    asked = sum(sum(tally) for tally in right.values())
    good = sum(tally[0] for tally in right.values())
    return [
        Aim(f"{name}: answered right, %", 100 * good / asked, at_least=95 if late else 100),
        Aim(f"{name}: kept that was never said", len(junk), at_most=0),
    ]


def _days(life: Life) -> list[tuple[int, list[Said]]]:
    said = [*life.noise, *(one for topic in life.topics for one in topic.said)]
    by_day = groupby(sorted(said, key=lambda one: one.day), key=lambda one: one.day)
    return [(day, list(group)) for day, group in by_day]


def _moment(day: int) -> datetime:
    return BEGINNING + timedelta(days=day)


def _questions(life: Life, days: int) -> Iterator[Question]:
    for topic in life.topics:
        told = [one for one in topic.said if one.day <= days]
        values = {one.value for one in topic.said} - {""}
        if not told:
            continue
        last = told[-1]
        yield Question(
            topic.topic,
            topic.now,
            _moment(days + 1),
            last.value,
            tuple(values - {last.value}),
            "now" if last.value else "now, taken back",
        )
        for one, following in pairwise(told):
            then = _moment(following.day - 1)
            text = topic.then.format(date=f"{then:%Y-%m-%d}")
            wrong = tuple(values - {one.value})
            yield Question(topic.topic, text, then, one.value, wrong, "the day before")


Tally = tuple[int, int, int]


def _answered(
    life: Life, facts: Facts, days: int
) -> tuple[Mapping[str, Tally], Sequence[tuple[Question, str]]]:
    """For each sort of question how many are right, lack the value, hold an outdated one."""
    tallies: dict[str, list[int]] = {}
    trouble: list[tuple[Question, str]] = []
    for question in _questions(life, days):
        held = [fact.text for fact in facts.in_force(question.moment)]
        _count(tallies, trouble, question, question.sort, held)
        if question.sort == "the day before":
            brought = [fact.text for fact in facts.bearing_on(question.text, _moment(days + 1))]
            _count(tallies, trouble, question, "the day before, asked in words", brought)
    return {sort: (one[0], one[1], one[2]) for sort, one in tallies.items()}, trouble


def _count(
    tallies: dict[str, list[int]],
    trouble: list[tuple[Question, str]],
    question: Question,
    sort: str,
    texts: Sequence[str],
) -> None:
    tally = tallies.setdefault(sort, [0, 0, 0])
    lacks = bool(question.value) and not any(_holds(text, question.value) for text in texts)
    stale = any(
        # That it is no more is no outdated value.
        _holds(text, wrong) and not _holds(text, question.value) and not statement(text).retracts
        for text in texts
        for wrong in question.wrong
    )
    tally[1 if lacks else 2 if stale else 0] += 1
    if lacks or stale:
        trouble.append((question, sort))


def _holds(text: str, value: str) -> bool:
    return bool(value) and value.casefold() in text.casefold()


def _junk(life: Life, facts: Facts) -> list[Fact]:
    """Facts whose turn says nothing lasting, or another thing than they do."""
    said = {
        f"day{day}.{turn}": one for day, all_ in _days(life) for turn, one in enumerate(all_, 1)
    }
    noise = {source: one for source, one in said.items() if one in life.noise}
    return [
        fact
        for fact in facts.history()
        for source in fact.sources
        if source in noise and not _holds(fact.text, noise[source].value)
    ]


def _show(
    wrong: Sequence[tuple[Question, str]],
    junk: Sequence[Fact],
    refused: Sequence[tuple[str, str]],
    held: Sequence[Fact],
) -> None:
    for question, sort in wrong:
        print(f"  wrong ({sort}): {question.text} {question.value or 'nothing'}")
    for fact in junk:
        print(f"  never said: {fact.text}")
    for line, why in refused:
        print(f"  refused: {line} ({why})")
    for fact in held:
        print(f"  in force: {fact.id} {fact.said:%m-%d} {fact.kind}: {fact.text}")


# --- what it costs ------------------------------------------------------------------------------

_NOUNS = ("tea", "trains", "novels", "rowing", "chess", "olives", "opera", "linen", "maps", "snow")


def _costs(folder: Path, counter: TokenCounter) -> Sequence[Aim]:
    """Keep one fact more and make the prompt's block, among few facts and among many."""
    counter.count("load the tokenizer")
    rows = []
    figures: dict[int, dict[str, float]] = {}
    for size in (FEW, MANY):
        figures[size] = _figures(folder / f"cost-{size}.jsonl", size, counter)
    for name in figures[FEW]:
        few, many = figures[FEW][name], figures[MANY][name]
        rows.append((name, f"{few:.2f}", f"{many:.2f}", f"{many / few:.1f}"))
    print()
    print(table_text(("milliseconds", f"{FEW} facts", f"{MANY:,} facts", "ratio"), rows))
    turn = sum(figures[MANY][name] for name in ("in force", "block"))
    return [
        Aim(f"in force and block at {MANY:,} facts, ms", turn, at_most=10),
        Aim(f"near at {MANY:,} facts, ms", figures[MANY]["near"], at_most=10),
        Aim(f"remember at {MANY:,} facts, ms", figures[MANY]["remember"], at_most=30),
    ]


def _figures(path: Path, size: int, counter: TokenCounter) -> dict[str, float]:
    """Milliseconds of each step, with so many facts in the file."""
    _fill(path, size)
    clock = StandingClock()
    facts = Facts(path, times=clock)
    return {
        "read the file": _once(lambda: facts.in_force(clock.time)),
        "first near": _once(lambda: facts.near("Which opera do I like?")),
        "first remember": _once(lambda: facts.remember("I like the first one")),
        **_steps(facts, clock, counter),
    }


def _fill(path: Path, size: int) -> None:
    """As many facts as `remember` would write, in one write."""
    records = []
    for number in range(size):
        said = BEGINNING - timedelta(hours=size - number)
        noun = _NOUNS[number % len(_NOUNS)]
        text = f"I like the {noun} of shop {number} in street {number * 7 % 1009}"
        fact = Fact(id=f"fx{number}", text=text, kind="preference", said=said)
        records.append(msgspec.json.encode(FactRecord(fact, said)).replace(b"{", b'{"v":1,', 1))
    path.write_bytes(b"\n".join(records) + b"\n")


def _steps(facts: Facts, clock: StandingClock, counter: TokenCounter) -> dict[str, float]:
    numbers = count()

    def remember() -> None:
        facts.remember(f"I like the gloves of stall {next(numbers)}")

    def block() -> None:
        facts_block(in_force, counter.count, ROOM, "en")

    remembered = _median(remember)
    in_force = facts.in_force(clock.time)
    return {
        "remember": remembered,
        "in force": _median(lambda: facts.in_force(clock.time)),
        "block": _median(block),
        "near": _median(lambda: facts.near("Which gloves of which stall do I like?")),
    }


def _once(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return 1_000 * (time.perf_counter() - started)


def _median(act: Callable[[], object]) -> float:
    return statistics.median(_once(act) for _ in range(REPEATS))


if __name__ == "__main__":
    main()
