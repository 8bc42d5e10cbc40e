"""How much of each prompt is the beginning of the one before: what providers' caches hold.

    python -m benchmarks.prefix [--turns N] [--recalled N ...]

A conversation about things that were talked about in earlier sessions, so that every turn recalls
something: real sessions, the real index, the pipeline as it is wired, and a model that answers at
once. Tokens are counted by our counter, up to the first character that differs.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from assistant.app import App, build_app
from assistant.memory.background import recalled_block
from assistant.memory.session_store import SessionStore
from assistant.memory.token_budget import CountText, message_tokens
from assistant.messages import Message
from assistant.prompt import Prompt
from assistant.settings import load_settings
from assistant.turn import Event, run_turn
from benchmarks.instant_model import InstantModel
from benchmarks.table import Aim, table_text

#: Where what is recalled stands in the last message: before what was typed, or after it; or not
#: at all, which is the most that any order could reach.
Place: TypeAlias = Literal["before", "after", "nowhere"]
PLACES: Sequence[Place] = get_args(Place)

RECALLED = 800
"""The default of `budget.recalled`."""
OTHERS = (300, 600)
EARLIER = 5
"""Sessions, each of which speaks about everything."""
BEGINNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
# Nothing listens here, and nothing is asked: the model is replaced.
NOWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

SUBJECTS = (
    "the trip to Lisbon",
    "the new kitchen",
    "my grandmother's birthday",
    "the cargo bicycle",
    "the tax return",
    "the Spanish course",
    "the garden pond",
    "the interview at the observatory",
    "the move to Ghent",
    "the half marathon",
    "the photo book",
    "the piano lessons",
    "the gearbox of the car",
    "the school play",
    "the camping weekend",
)
SAID = (
    "Let us plan {0}. I can spend {1} euros on it, and it should be settled by the {2}th.",
    "I talked to {3} about {0}: {1} euros are fine, but nothing before the {2}th.",
    "{3} called because of {0}. There are {2} people on the list now, and {1} euros in the box.",
)
ASKED = (
    "What did we agree on for {0}, and how much may it cost?",
    "Who was it that I talked to about {0}, and what is still to be done there?",
)
PEOPLE = ("Marek", "Ines", "Mr Okafor", "Theresa", "Yusuf")
ADVICE = (
    "I would write down first what has to be there and what would only be nice.",
    "Ask for two offers, and have both of them say what is not included.",
    "Put it into the calendar with a reminder three days ahead, so that there is time to react.",
    "If the weather or the price changes, the second plan is the safer one.",
    "Keep a tenth of the money aside until everything has been paid for.",
    "It helps to have one person who decides when two things can't both be done.",
    "Check again the evening before whether everyone has the address and the time.",
    "What was borrowed goes back within the week, or it is forgotten.",
    "A short list on paper does better here than another application.",
    "Whoever can't come should say so early, because places are few.",
)
REPLY_TOKENS = (120, 250)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "earlier"
        _talk_earlier(home)
        runs = {
            recalled: _converse(_copy(home, recalled), options.turns, recalled)
            for recalled in options.recalled
        }
    _report(runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefix", description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument(
        "--recalled",
        type=int,
        nargs="+",
        default=(RECALLED, *OTHERS),
        help="most tokens that are recalled; the first is shown turn by turn",
    )
    return parser.parse_args()


# --- the conversations --------------------------------------------------------------------------


def _talk_earlier(home: Path) -> None:
    """Sessions about every subject, in the index."""
    chance = random.Random(1)
    app = _app(home, RECALLED)
    with closing(app):
        minutes, names = count(), count()
        store = SessionStore(
            home / "sessions",
            home / "data",
            clock=lambda: BEGINNING + timedelta(minutes=next(minutes)),
            new_id=lambda: f"20260302-09{next(names):02}00-abc",
        )
        length = _Length(app.pipeline.counter.count)
        for _ in range(EARLIER):
            with closing(store.create()) as session:
                for subject in chance.sample(SUBJECTS, len(SUBJECTS)):
                    session.ask(_said(chance, subject))
                    reply = length.reply(chance, subject)
                    session.answer(Message("assistant", reply, turn=session.turns))
        _wait_for_index(app)


def _converse(home: Path, turns: int, recalled: int) -> list[Step]:
    """A new session; each of its prompts but the first, beside the one before."""
    chance = random.Random(2)
    app = _app(home, recalled)
    with closing(app), closing(app.store.create()) as session:
        _wait_for_index(app)
        length = _Length(app.pipeline.counter.count)
        subjects = [SUBJECTS[number % len(SUBJECTS)] for number in range(turns)]
        app.pipeline.model = InstantModel([length.reply(chance, one) for one in subjects])
        prompts: list[Prompt] = []
        for number, subject in enumerate(subjects):
            question = ASKED[number // len(SUBJECTS) % len(ASKED)].format(subject)
            prompts.append(run_turn(question, session, app.pipeline, _ignore).prompt)
            assert app.worker.drain(timeout=60.0)
    return _steps(prompts, app.pipeline.counter.count)


def _app(home: Path, recalled: int) -> App:
    # Words find what is asked for here, and cost nothing.
    flags = {"budget.recalled": recalled, "memory.embedder": "none"}
    settings = load_settings(home, NOWHERE, flags)
    minutes = count()
    app = build_app(
        settings,
        titles="words",
        environment={},
        clock=lambda: BEGINNING + timedelta(days=30, minutes=next(minutes)),
    )
    app.pipeline.model = InstantModel()
    return app


def _wait_for_index(app: App) -> None:
    app.indexer.start()
    while app.indexer.state != "ready":
        app.worker.drain(timeout=60.0)
        status = app.indexer.status()
        assert status.state in ("closed", "catching up", "ready"), status.detail


def _copy(home: Path, recalled: int) -> Path:
    """The same home again: what is said in one conversation is not recalled in another."""
    copied = home.with_name(f"recalled-{recalled}")
    shutil.copytree(home, copied)
    return copied


def _ignore(event: Event) -> None:
    """Drawing is no part of this."""


def _said(chance: random.Random, subject: str) -> str:
    amount, day, person = chance.randint(100, 900), chance.randint(4, 28), chance.choice(PEOPLE)
    return chance.choice(SAID).format(subject, amount, day, person)


@dataclass(frozen=True)
class _Length:
    """Writes replies of an ordinary length."""

    count: CountText

    def reply(self, chance: random.Random, subject: str) -> str:
        wanted = chance.randint(*REPLY_TOKENS)
        text = f"About {subject}: it is a good plan."
        while self.count(text) < wanted:
            text += " " + chance.choice(ADVICE)
        return text


# --- what is unchanged --------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One prompt beside the one before it, in tokens."""

    recalled: int
    compacted: bool
    """Whether the summary changed, and with it the first message."""
    tokens: dict[Place, int]
    unchanged: dict[Place, int]


def _steps(prompts: Sequence[Prompt], count: CountText) -> list[Step]:
    return [_step(before, now, count) for before, now in pairwise(prompts)]


def _step(before: Prompt, now: Prompt, count: CountText) -> Step:
    sent: dict[Place, Sequence[Message]] = {place: _sent(now, place) for place in PLACES}
    return Step(
        recalled=sum(one.tokens for one in now.sections if one.name == "recalled"),
        compacted=before.messages[0].text != now.messages[0].text,
        tokens={
            place: sum(message_tokens(one, count) for one in messages)
            for place, messages in sent.items()
        },
        unchanged={
            place: unchanged_tokens(_sent(before, place), messages, count)
            for place, messages in sent.items()
        },
    )


def _sent(prompt: Prompt, place: Place) -> Sequence[Message]:
    """The messages of a prompt as they would be with what is recalled in this place."""
    recalled = prompt.recollection.text
    if not recalled:
        return prompt.messages
    *earlier, last = prompt.messages
    block = recalled_block(recalled)
    assert block in last.text
    typed = last.text.replace(block, "").strip()
    parts = {"after": (typed, block), "before": (block, typed), "nowhere": (typed,)}[place]
    return (*earlier, Message(last.role, "\n\n".join(parts)))


def unchanged_tokens(before: Sequence[Message], now: Sequence[Message], count: CountText) -> int:
    """Tokens that both begin with, up to the first character that differs."""
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old.role != new.role:
            break
        if old.text != new.text:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(old.text, new.text, strict=False))
            tokens += count("".join(one for one, _ in same))
            break
        tokens += message_tokens(new, count)
    return tokens


def _share(steps: Sequence[Step], place: Place) -> float:
    """Of all tokens that were sent, in percent."""
    sent = sum(step.tokens[place] for step in steps)
    return 100 * sum(step.unchanged[place] for step in steps) / sent if sent else 0.0


def _between(steps: Sequence[Step]) -> list[Step]:
    """Without those whose summary is new: there nothing but the instructions can stay."""
    return [step for step in steps if not step.compacted]


# --- reporting ----------------------------------------------------------------------------------


def _report(runs: dict[int, list[Step]]) -> None:
    first, steps = next(iter(runs.items()))
    print(f"{len(steps) + 1} turns, at most {first} tokens recalled, before what was typed\n")
    heads: Sequence[str] = ("turn", "tokens", "recalled", "unchanged", "%", "")
    rows = [_row(str(turn), [step]) for turn, step in enumerate(steps, 2)]
    print(table_text(heads, [*rows, _row("all", steps), _row("between", _between(steps))]))
    print("\nUnchanged by where what is recalled stands, in %, between compactions and of all\n")
    heads = ("recalled at most", "recalled", "changed", "compactions", *PLACES, "all, before")
    print(table_text(heads, [_run_row(*run) for run in runs.items()]), end="\n\n")
    for recalled, steps in runs.items():
        text = f"unchanged between compactions, {recalled} tokens recalled, at least 70 %"
        print(Aim(text, _share(_between(steps), "before"), at_least=70))


def _row(name: str, steps: Sequence[Step]) -> Sequence[str]:
    return (
        name,
        f"{sum(step.tokens['before'] for step in steps):,}",
        f"{sum(step.recalled for step in steps):,}",
        f"{sum(step.unchanged['before'] for step in steps):,}",
        f"{_share(steps, 'before'):.0f}",
        "compacted" if len(steps) == 1 and steps[0].compacted else "",
    )


def _run_row(recalled: int, steps: Sequence[Step]) -> Sequence[str]:
    """Tokens are those of a turn, on an average."""
    between = _between(steps)
    changed = [step.tokens["before"] - step.unchanged["before"] for step in between]
    return (
        f"{recalled:,}",
        f"{statistics.mean(step.recalled for step in steps):,.0f}",
        f"{statistics.mean(changed):,.0f}",
        str(len(steps) - len(between)),
        *(f"{_share(between, place):.0f}" for place in PLACES),
        f"{_share(steps, 'before'):.0f}",
    )


if __name__ == "__main__":
    main()
