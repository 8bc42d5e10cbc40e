"""The story of row E: fifteen turns against a real HTTP endpoint, from the plan to its recall."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.app import App, build_app
from assistant.memory.session import Session
from assistant.settings import load_settings
from assistant.turn import Turn, run_turn
from tests.endpoint import Endpoint
from tests.fakes import FakeClock, FakeIds

PLAN = (
    "This is the plan for Granada: on Monday we see the Alhambra, on Tuesday we walk through the "
    "Albaicín, and the budget is 450 euros for both of us."
)
TOPICS = (
    "shoes for long walks",
    "a book about gardens",
    "trains from Madrid",
    "what to eat at noon",
    "how tiles are made",
    "a phrase book",
    "the weather in spring",
    "an umbrella",
    "a quiet street to sleep in",
    "coffee in the morning",
    "a gift for my aunt",
    "how to carry a guitar",
    "a doctor who speaks German",
)
#: A reply as long as a model's: 15 of them pass 6,000 tokens.
LONG = (
    "That depends on a few things, and there is no single answer that fits everybody, so here is "
    "what people who have been there more than once tend to say about it. "
) * 15


def summarized(request: dict[str, Any]) -> str:
    """What a careful model would write: what the user said, line by line."""
    text = request["messages"][-1]["content"]
    said = [line.removeprefix("User: ") for line in text.splitlines() if line.startswith("User: ")]
    notes = [line for line in text.splitlines() if line.startswith("- ")]
    return "\n".join([*notes, *(f"- {line}" for line in said)])


def vague(request: dict[str, Any]) -> str:
    return "- The user asked about several things."


@pytest.fixture(params=[summarized, vague])
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        endpoint.respond = lambda body: request.param(body) if is_summary(body) else LONG
        yield endpoint


def is_summary(body: dict[str, Any]) -> bool:
    return "You keep the notes" in body["messages"][0]["content"]


def is_for_facts(body: dict[str, Any]) -> bool:
    return "You note lasting facts" in body["messages"][0]["content"]


@pytest.fixture
def app(home: Path, endpoint: Endpoint) -> Iterator[App]:
    settings = load_settings(home, {"OPENAI_BASE_URL": endpoint.url}, {"memory.index": False})
    app = build_app(settings, titles="off", environment={}, clock=FakeClock(), new_id=FakeIds())
    yield app
    app.close()


def say(app: App, session: Session, text: str) -> Turn:
    turn = run_turn(text, session, app.pipeline, lambda event: None)
    # What the worker does is what happens while the user reads the reply.
    assert app.worker.drain(20)
    return turn


def test_fifteen_turns_stay_under_4000_tokens_and_the_plan_is_still_known(
    app: App, endpoint: Endpoint
) -> None:
    session = app.store.create()
    turns = [say(app, session, PLAN)]
    turns += [say(app, session, f"Tell me about {topic}, please.") for topic in TOPICS]
    turns.append(say(app, session, "What was our plan for Granada, and what may it cost?"))
    assert len(turns) == 15
    assert session.history.tokens() > 6_000
    assert max(turn.prompt.tokens for turn in turns) < 4_000
    chats = [body for body in endpoint.requests if not is_summary(body) and not is_for_facts(body)]
    assert len(chats) == 15
    last = "\n".join(str(message["content"]) for message in chats[-1]["messages"])
    for part in ("Alhambra", "Albaicín", "450 euros"):
        assert part in last
    # The turn itself is long out of what is sent word for word, and nobody waited for a summary.
    assert session.summary is not None
    assert session.summary.covers[1] > 2
    assert [str(one["content"]) for one in chats[-1]["messages"]].count(PLAN) == 0
    session.close()


def test_the_summary_is_in_force_after_a_restart(app: App, home: Path, endpoint: Endpoint) -> None:
    session = app.store.create()
    for text in (PLAN, *(f"Tell me about {topic}, please." for topic in TOPICS)):
        say(app, session, text)
    summary = session.summary
    assert summary is not None
    session.close()
    again = app.store.open(session.id)
    assert again.summary == summary
    before = len(again.history)
    turn = say(app, again, "And the plan?")
    assert turn.prompt.left_out >= before - 20
    assert "450 euros" in turn.prompt.messages[0].text
    again.close()
