"""How well a model calls the tools: one request for each of the utterances in the corpus.

    python -m benchmarks.tools --every 4
    python -m benchmarks.tools --base-url https://api.example.org/v1 --model name --api-key …

What is asked is what the program would send: the system prompt, the utterance with the note of
date and time, and all tools. A call counts as right by its effect: its times are read by the code
that reads them in the program. Of two requests in one, a model that calls one tool at a time is
judged by the first. With the embedded model it is the rules that make its calls that are measured.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from platformdirs import user_cache_path

from assistant.errors import WrongEntry
from assistant.memory.background import time_note
from assistant.memory.times.times import Times
from assistant.messages import Message, Moment, ToolCall
from assistant.prompt import ToolSchema
from assistant.protocols import ChatModel
from assistant.providers.local_chat import LocalChat
from assistant.providers.openai_chat import OpenAIChat
from assistant.tools import all_groups
from benchmarks.table import table_text
from benchmarks.utterances import ExpectedCall, Utterance, utterances

WINDOW = 8192
LONGEST = 160
PROMPT = Path(__file__).parents[1] / "config" / "prompts" / "system.md"

#: Arguments that are times, read as a moment or as a stretch; and those that are free words.
MOMENTS = ("start", "end", "valid_from", "valid_until")
STRETCHES = ("from", "to")
WORDS = ("title", "text", "question", "query", "notes", "location", "tags")


class Score(msgspec.Struct, frozen=True):
    """What came of one utterance. `times` and `arguments` are None where there was nothing to read.

    Arguments are judged where the tool is right, times where the call should have some.
    """

    utterance: Utterance
    calls: Sequence[ToolCall]
    said: str
    seconds: float
    tool: bool
    arguments: bool | None = None
    times: bool | None = None


def main() -> None:
    options = _options()
    tools = [tool.schema for group in all_groups() for tool in group.tools]
    chosen = list(utterances())[:: options.every]
    if options.seed is not None:
        random.Random(options.seed).shuffle(chosen)
    chosen = chosen[: options.limit]
    with _model(options) as model:
        scores = [_shown(_asked(model, one, tools), options.show) for one in chosen]
    print(_table(scores))
    nothing = [one.tool for one in scores if not one.utterance.calls]
    print(f"\nNothing was to be called {len(nothing)} times; nothing was: {sum(nothing)}.")
    print(f"Seconds an utterance: {sum(one.seconds for one in scores) / len(scores):.1f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tools", description=__doc__)
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint; else the embedded model")
    parser.add_argument("--model", help="the model's name at that endpoint")
    parser.add_argument("--api-key", help="its key")
    parser.add_argument("--limit", type=int, help="only so many utterances")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth")
    parser.add_argument("--seed", type=int, help="in an order drawn with it")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    if options.base_url and not options.model:
        parser.error("--base-url needs --model")
    return options


@contextmanager
def _model(options: argparse.Namespace) -> Iterator[ChatModel]:
    model: ChatModel
    if options.base_url:
        model = OpenAIChat(
            options.model,
            base_url=options.base_url,
            api_key=options.api_key,
            timeout=120,
            max_retries=2,
        )
    else:
        model = LocalChat(
            user_cache_path("assistant", appauthor=False),
            None,
            threads=os.cpu_count() or 1,
            context_window=WINDOW,
            on_progress=lambda text: None,
            times_in=Times(lambda: datetime.now().astimezone()).expressions,
        )
    try:
        model.load()
        yield model
    finally:
        model.close()


def _asked(model: ChatModel, utterance: Utterance, tools: Sequence[ToolSchema]) -> Score:
    said = f"{utterance.said}\n\n{time_note(utterance.said, utterance.moment)}"
    messages = (
        Message(role="system", content=PROMPT.read_text(encoding="utf-8").strip()),
        Message(role="user", content=said),
    )
    begun = time.monotonic()
    parts = list(model.stream(messages, tools=tools, max_tokens=LONGEST))
    seconds = time.monotonic() - begun
    calls = [call for part in parts for call in part.tool_calls]
    return _scored(utterance, calls, "".join(part.text for part in parts), seconds)


def _shown(score: Score, show: bool) -> Score:
    if show and not (score.tool and score.arguments is not False and score.times is not False):
        calls = ", ".join(f"{call.name}{call.arguments}" for call in score.calls)
        print(f"{score.utterance.id} {score.utterance.said}\n    {calls or score.said!r}")
    return score


# --- judging ------------------------------------------------------------------------------------


def _scored(utterance: Utterance, calls: Sequence[ToolCall], said: str, seconds: float) -> Score:
    expected = utterance.calls
    names = [call.name for call in calls]
    wanted = [call.name for call in expected]
    tool = names == wanted or (utterance.kind == "two" and names == wanted[:1])
    if not tool or not calls:
        return Score(utterance, calls, said, seconds, tool)
    times = Times(lambda: utterance.moment)
    pairs = [(_arguments(one), other) for one, other in zip(calls, expected, strict=False)]
    dated = any(name in (*MOMENTS, *STRETCHES) for _, one in pairs for name in one.arguments)
    return Score(
        utterance,
        calls,
        said,
        seconds,
        tool,
        all(_same_arguments(given, one) for given, one in pairs),
        all(_same_times(given, one, times) for given, one in pairs) if dated else None,
    )


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _same_arguments(given: Mapping[str, Any], expected: ExpectedCall) -> bool:
    """Whether all but the times is as it should be; free words need only be there.

    Notes and tags that were not asked for do no harm.
    """
    names = (given.keys() | expected.arguments.keys()) - {*MOMENTS, *STRETCHES, "notes", "tags"}
    return all(_same(name, given.get(name), expected.arguments.get(name)) for name in names)


def _same(name: str, given: object, expected: object) -> bool:
    if name == "repeat":
        # Words for a rule are read by code: any will do where one is expected.
        return bool(given) == bool(expected)
    if name in WORDS:
        return bool(given) or not expected
    return given == expected


def _same_times(given: Mapping[str, Any], expected: ExpectedCall, times: Times) -> bool:
    return _bounds(given, times) == _bounds(expected.arguments, times)


def _bounds(arguments: Mapping[str, Any], times: Times) -> Sequence[object]:
    """The times a call comes to, the end of a stretch taken from its beginning if it has none."""
    try:
        moments = {name: times.moment(arguments[name]) for name in MOMENTS if arguments.get(name)}
        looked = [times.stretch(arguments[name]) for name in STRETCHES if arguments.get(name)]
    except WrongEntry as error:
        return [str(error)]
    start, end = moments.pop("start", None), moments.pop("end", None)
    if start is not None and end is not None and not end.dated:
        end = times.moment(arguments["end"], start.start)
    until = _end_of(start, end)
    return [
        start and start.start,
        until,
        {name: moment.start for name, moment in moments.items()},
        looked and (looked[0].start, looked[-1].end),
    ]


def _end_of(start: Moment | None, end: Moment | None) -> object:
    """When an event ends that was given so; None where nothing was said of it."""
    if end is not None:
        return end.end if end.whole_day else end.start
    return start and start.end


# --- the table ----------------------------------------------------------------------------------


def _table(scores: Sequence[Score]) -> str:
    languages = sorted({one.utterance.language for one in scores})
    kinds = list(dict.fromkeys(one.utterance.kind for one in scores))
    groups = [
        ("all", scores),
        *((name, [one for one in scores if one.utterance.language == name]) for name in languages),
        *((name, [one for one in scores if one.utterance.kind == name]) for name in kinds),
    ]
    heads = ("", "said", "tool right", "arguments right", "times right")
    return table_text(heads, [_row(name, group) for name, group in groups])


def _row(name: str, scores: Sequence[Score]) -> Sequence[str]:
    return (
        name,
        str(len(scores)),
        _share([one.tool for one in scores]),
        _share([one.arguments for one in scores if one.arguments is not None]),
        _share([one.times for one in scores if one.times is not None]),
    )


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right)}/{len(right)}" if right else "-"


if __name__ == "__main__":
    main()
