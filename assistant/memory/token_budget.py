"""What fits: counting messages, sharing out the window, and choosing where to cut the history.

The cuts are decisions over plain data: they return which messages stay and change nothing.
They search cached prefix sums, so a cut costs O(log n) however long the session is, and each
message is counted once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from assistant.messages import ImagePart, Message, Role, TextPart, TokenCount, ToolCall

CountText: TypeAlias = Callable[[str], int]

# Measured constants of the chat format (OpenAI cookbook, "How to count tokens with tiktoken"):
# each message costs its frame and one token for its role, each request a primer for the reply.
MESSAGE_OVERHEAD = 4
REPLY_PRIMER = 3
# No agreed figure exists; endpoints differ between 3 and 10 a call beside name and arguments.
TOOL_CALL_OVERHEAD = 8
# Tool schemas are rendered as a TypeScript namespace in the system message (public finding,
# openai-messages-token-helper): its text, 9 more, 4 less when there is a system message.
TOOLS_OVERHEAD = 9 - 4
# An image's tokens depend on model and size; endpoints charge 85 for low detail, and a middling
# image at full detail about this much. The endpoint's own usage corrects it.
IMAGE_TOKENS = 1_100
LOW_DETAIL_IMAGE_TOKENS = 85

# A message shortened below this says nothing any more: it is left out whole.
MIN_PARTIAL_TOKENS = 16


# --- counting -----------------------------------------------------------------------------------


def message_tokens(message: Message, count: CountText) -> int:
    """Tokens one message takes in a request, its overhead included."""
    return MESSAGE_OVERHEAD + content_tokens(message, count) + _calls_tokens(message, count)


def content_tokens(message: Message, count: CountText) -> int:
    """Tokens of the content alone: the text, and a flat figure for each image."""
    if isinstance(message.content, str):
        return count(message.content)
    return sum(
        count(part.text) if isinstance(part, TextPart) else _image_tokens(part)
        for part in message.content
    )


def _image_tokens(part: ImagePart) -> int:
    return LOW_DETAIL_IMAGE_TOKENS if part.image_url.detail == "low" else IMAGE_TOKENS


def _calls_tokens(message: Message, count: CountText) -> int:
    return sum(_call_tokens(call, count) for call in message.tool_calls)


def _call_tokens(call: ToolCall, count: CountText) -> int:
    return TOOL_CALL_OVERHEAD + count(call.name) + count(call.arguments)


def tools_tokens(tools_text: str, count: CountText) -> int:
    """Tokens that tools, described so, take in a request that has a system message."""
    return count(tools_text) + TOOLS_OVERHEAD if tools_text else 0


# --- the window ---------------------------------------------------------------------------------


class TokenBudget(msgspec.Struct, frozen=True):
    """How a model's window is shared out. All figures are tokens as we count them."""

    window: int
    """As much of the model's window as may be filled, as we count."""
    reserve: int
    """Kept free for the reply."""
    history: int = 3_000
    """The most that earlier turns may take."""
    recent_messages: int = 20
    """The most messages of earlier turns that are sent word for word."""
    recalled: int = 800
    """The most that recalled exchanges may take."""
    limit: int = 0
    """The model's window in its own tokens, to be shown."""

    @classmethod
    def for_window(
        cls,
        window: int,
        *,
        reserve: int,
        history: int,
        recent_messages: int,
        recalled: int = 0,
        limit: int = 0,
    ) -> TokenBudget:
        """A budget that always leaves room: the reserve takes a third of the window at most."""
        window = max(1, window)
        return cls(
            window,
            min(reserve, window // 3),
            history,
            recent_messages,
            recalled,
            limit or window,
        )

    def input_room(self, fixed: int) -> int:
        """What the current message may take when the history is given up altogether."""
        return max(0, self.window - self.reserve - fixed)

    def recalled_room(self, fixed: int, current: int) -> int:
        """What recalled exchanges may take beside the fixed sections and the current message.

        In a narrow window a third of what is left: the history needs the rest.
        """
        return max(0, min(self.recalled, (self.input_room(fixed) - current) // 3))

    def history_room(self, fixed: int, current: int, summary: int = 0) -> int:
        """What earlier turns may take beside the fixed sections and the current message.

        The summary stands for turns: its tokens are taken from the history's share.
        """
        free = self.input_room(fixed) - current
        return max(0, min(self.history, free) - summary)


# --- the history --------------------------------------------------------------------------------


class History:
    """Messages in order, the running sums of their tokens, and where turns begin.

    Appending is O(1) and any stretch's tokens are one subtraction.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._sums: list[int] = [0]
        self._turns: list[int] = []
        self._counted_from = 0
        self._encoding: str | None = None

    @classmethod
    def of(cls, messages: Iterable[Message], counts: Iterable[int]) -> History:
        history = cls()
        for message, tokens in zip(messages, counts, strict=True):
            history.append(message, tokens)
        return history

    def picked(self, indices: Iterable[int]) -> History:
        """Some of its messages, with their counts."""
        history = History()
        for at in indices:
            history.append(self._messages[at], self.tokens(range(at, at + 1)))
        return history

    def append(self, message: Message, tokens: int | None = None) -> None:
        """Add a message; without `tokens` it takes the count it was saved with."""
        if message.role == "user":
            self._turns.append(len(self._messages))
        self._messages.append(message)
        self._sums.append(self._sums[-1] + (_saved_count(message) if tokens is None else tokens))
        if message.count is None or message.count.encoding != self._encoding:
            self._counted_from = len(self._messages)

    def extend_counted(self, messages: Sequence[Message]) -> None:
        """Add messages with the counts they were saved with, in one pass."""
        total, start = self._sums[-1], len(self._messages)
        for index, message in enumerate(messages, start):
            if message.role == "user":
                self._turns.append(index)
            total += _saved_count(message)
            self._sums.append(total)
        self._messages.extend(messages)
        self._counted_from = len(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: int) -> Message:
        return self._messages[index]

    @property
    def turn_starts(self) -> Sequence[int]:
        """Indices of the messages that begin a turn: the user's."""
        return self._turns

    def index_after(self, message_id: int) -> int:
        """Where the messages begin whose ids are greater. O(log n): ids count up."""
        return bisect_right(self._messages, message_id, key=lambda one: one.id)

    def turn_start_before(self, index: int) -> int:
        """Where the last turn begins that begins at `index` or before; 0 without any. O(log n)."""
        at = bisect_right(self._turns, index) - 1
        return self._turns[at] if at >= 0 else 0

    def turn(self, number: int) -> range:
        """The messages of a turn; empty when there is none of that number. O(log n)."""
        first = bisect_left(self._messages, number, key=lambda one: one.turn)
        return range(first, bisect_right(self._messages, number, key=lambda one: one.turn))

    def slice(self, kept: range) -> tuple[Message, ...]:
        return tuple(self._messages[kept.start : kept.stop])

    def tokens(self, kept: range | None = None) -> int:
        """Tokens of a stretch, or of all of it."""
        if kept is None:
            return self._sums[-1]
        return self._sums[kept.stop] - self._sums[kept.start]

    def sum_before(self, index: int) -> int:
        """Tokens of all messages before `index`."""
        return self._sums[index]

    def count_newest(
        self,
        encoding: str,
        count: Callable[[Message], int],
        room: int,
        *,
        passed_over: Container[int] = (),
    ) -> None:
        """Make the newest messages' counts true for `encoding`, back to where `room` is filled.

        And at least back to the start of the newest earlier turn. The last message takes no room,
        nor do the turns `passed_over`. A session written with another model's encoding, or before
        the tokenizer was there, is recounted only as far as it can be sent, and once.
        """
        if encoding != self._encoding:
            self._encoding, self._counted_from = encoding, len(self._messages)
        last, index = len(self._messages) - 1, len(self._messages)
        filled, whole_turn = 0, False
        fresh: list[int] = []
        while index > 0 and (filled <= room or not whole_turn):
            index -= 1
            message = self._messages[index]
            if index < self._counted_from:
                saved = message.count
                known = saved is not None and saved.encoding == encoding
                fresh.append(saved.tokens if saved and known else count(message))
            if index < last and message.turn not in passed_over:
                counted = index >= self._counted_from
                filled += self._sums[index + 1] - self._sums[index] if counted else fresh[-1]
                whole_turn = whole_turn or message.role == "user"
        first = self._counted_from - len(fresh)
        self._replace_counts(first, fresh[::-1])
        self._counted_from = first

    def _replace_counts(self, first: int, counts: list[int]) -> None:
        after = first + len(counts)
        shift = self._sums[first] + sum(counts) - self._sums[after]
        for offset, tokens in enumerate(counts):
            self._sums[first + offset + 1] = self._sums[first + offset] + tokens
        if shift:
            self._sums[after + 1 :] = [value + shift for value in self._sums[after + 1 :]]


def _saved_count(message: Message) -> int:
    # Without a count, a rough one that can't be far too small; it is replaced before it matters.
    return message.count.tokens if message.count else _text_size(message)


def _text_size(message: Message) -> int:
    """Bytes of its text, which stand for tokens in any language."""
    return len(message.text.encode("utf-8", "replace"))


# --- where to cut -------------------------------------------------------------------------------


def last_messages(history: History, n: int) -> range:
    """The last `n` messages at most, starting with a user message.

    A turn is never cut inside, so fewer may stay; the newest turn stays whole even when it alone
    has more than `n` messages.
    """
    starts = history.turn_starts
    if not starts or n <= 0:
        return range(len(history), len(history))
    first = bisect_left(starts, len(history) - n)
    return range(starts[min(first, len(starts) - 1)], len(history))


def last_turns(history: History, n: int) -> range:
    """The last `n` turns; the first of them begins with a user message."""
    starts = history.turn_starts
    if not starts or n <= 0:
        return range(len(history), len(history))
    return range(starts[max(0, len(starts) - n)], len(history))


def newest_turns(history: History, budget: int) -> range:
    """The newest whole turns that take `budget` tokens at most. O(log turns)."""
    starts = history.turn_starts
    first = bisect_left(starts, history.tokens() - budget, key=history.sum_before)
    return range(starts[first] if first < len(starts) else len(history), len(history))


def oldest_turns(history: History, budget: int) -> range:
    """The oldest whole turns that take `budget` tokens at most. O(log turns)."""
    starts = history.turn_starts
    if not starts:
        return range(0, 0)
    first = starts[0]
    limit = budget + history.sum_before(first)
    if history.tokens() <= limit:
        return range(first, len(history))
    last = bisect_right(starts, limit, key=history.sum_before) - 1
    return range(first, starts[max(0, last)])


class Fitted(msgspec.Struct, frozen=True):
    """What `fit_tokens` keeps: the messages in order, and their tokens."""

    messages: tuple[Message, ...]
    tokens: int


#: Cuts a message to so many tokens at most; gives it with the tokens it takes now, which are more
#: where it can't be cut so far.
Shorten: TypeAlias = Callable[[Message, int], tuple[Message, int]]


def fit_tokens(
    history: History,
    budget: int,
    *,
    strategy: Literal["last", "first"] = "last",
    start_on: Role | None = "user",
    end_on: Sequence[Role] = (),
    keep_system: bool = True,
    shorten: Shorten | None = None,
) -> Fitted:
    """Keep what fits `budget` tokens, from the newest end or the oldest.

    With `start_on="user"` whole turns are kept; with None the cut may fall between any two
    messages, though never between a tool call and its results. `end_on` names the roles what is
    kept may end on. A system message that stands first is kept, and counted, unless `keep_system`
    is False. With `shorten(message, tokens)` the turn that falls on the border is kept with its
    largest text shortened, as long as something worth reading is left of it.
    """
    system = _leading_system(history) if keep_system else None
    fixed = history.tokens(range(0, 1)) if system else 0
    room = budget - fixed
    kept = _whole(history, room, strategy, start_on)
    kept = _end_on(history, kept, end_on)
    messages, tokens = history.slice(kept), history.tokens(kept)
    if shorten and (part := _partial(history, kept, room - tokens, strategy, shorten)):
        both = (part.messages, messages) if strategy == "last" else (messages, part.messages)
        messages = (*both[0], *both[1])
        tokens += part.tokens
    if system:
        return Fitted((system, *messages), fixed + tokens)
    return Fitted(messages, tokens)


def _leading_system(history: History) -> Message | None:
    return history[0] if len(history) and history[0].role == "system" else None


def _whole(
    history: History, room: int, strategy: Literal["last", "first"], start_on: Role | None
) -> range:
    if start_on == "user":
        return newest_turns(history, room) if strategy == "last" else oldest_turns(history, room)
    start = 1 if _leading_system(history) else 0
    if strategy == "last":
        first = bisect_left(
            range(start, len(history)), history.tokens() - room, key=history.sum_before
        )
        first += start
        while first < len(history) and history[first].role == "tool":
            first += 1
        while start_on and first < len(history) and history[first].role != start_on:
            first += 1
        return range(first, len(history))
    limit = room + history.sum_before(start)
    stop = bisect_right(range(start, len(history) + 1), limit, key=history.sum_before) + start - 1
    while start < stop < len(history) and history[stop].role == "tool":
        stop -= 1
    while start_on and start < stop and history[start].role != start_on:
        start += 1
    return range(start, max(start, stop))


def _end_on(history: History, kept: range, roles: Sequence[Role]) -> range:
    stop = kept.stop
    while roles and stop > kept.start and not _may_end(history[stop - 1], roles):
        stop -= 1
    return range(kept.start, stop)


def _may_end(message: Message, roles: Sequence[Role]) -> bool:
    # A call whose results were dropped would be refused by every endpoint.
    return message.role in roles and not message.tool_calls


def _partial(
    history: History,
    kept: range,
    room: int,
    strategy: Literal["last", "first"],
    shorten: Shorten,
) -> Fitted | None:
    border = _border_turn(history, kept, strategy)
    if border is None:
        return None
    # By its text: calls and images may take more tokens, and can't be shortened.
    largest = max(border, key=lambda index: _text_size(history[index]))
    size = history.tokens(range(largest, largest + 1))
    left = room - (history.tokens(border) - size)
    if left < MIN_PARTIAL_TOKENS:
        return None
    messages = list(history.slice(border))
    messages[largest - border.start], tokens = shorten(history[largest], left)
    if tokens > left:
        return None
    return Fitted(tuple(messages), history.tokens(border) - size + tokens)


def _border_turn(history: History, kept: range, strategy: Literal["last", "first"]) -> range | None:
    """The turn next to what is kept, on the side that was cut away."""
    starts = history.turn_starts
    if strategy == "last":
        at = bisect_left(starts, kept.start) - 1
        return range(starts[at], kept.start) if at >= 0 else None
    at = bisect_left(starts, kept.stop)
    if at >= len(starts):
        return None
    return range(starts[at], starts[at + 1] if at + 1 < len(starts) else len(history))


# --- shortening ---------------------------------------------------------------------------------


def shorten_message(message: Message, room: int, count: CountText) -> Message:
    """The message with its largest text cut so that the whole takes `room` tokens at most."""
    if isinstance(message.content, str):
        texts = [message.content]
    else:
        texts = [part.text if isinstance(part, TextPart) else "" for part in message.content]
    largest = max(range(len(texts)), key=lambda index: len(texts[index]))
    rest = message_tokens(message, count) - count(texts[largest])
    shortened = shorten_text(texts[largest], room - rest, count)
    if isinstance(message.content, str):
        return msgspec.structs.replace(message, content=shortened, count=None)
    parts = list(message.content)
    parts[largest] = TextPart(shortened)
    return msgspec.structs.replace(message, content=tuple(parts), count=None)


def shorten_text(text: str, room: int, count: CountText) -> str:
    """Beginning and end of `text` around a visible mark, `room` tokens at most.

    The halves are found by bisection on characters: about log2(len) counts. A room too small for
    the mark gets an ellipsis, or nothing.
    """
    if count(text) <= room:
        return text
    mark = "\n[… {:,} characters left out here …]\n"

    def cut(kept: int) -> str:
        head, tail = kept - kept // 2, kept // 2
        return text[:head] + mark.format(len(text) - kept) + (text[-tail:] if tail else "")

    low, high = 0, min(len(text), max(0, room) * 16)
    while low < high:
        middle = (low + high + 1) // 2
        if count(cut(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    for shortened in (cut(low), "…"):
        if count(shortened) <= room:
            return shortened
    return ""


def cut_lines(text: str, room: int, count: CountText) -> str:
    """The first lines of a text that fit `room` tokens, and how many more there are.

    Where not even the first fits, what fits of it.
    """
    if count(text) <= room:
        return text
    lines = text.splitlines()
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_first_lines(lines, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    # A short line before a very long one says little: the long one is shown in part, then.
    if low and (low > 1 or len(lines) > 2):
        return _first_lines(lines, low)
    return shorten_text(text, room, count)


def _first_lines(lines: Sequence[str], number: int) -> str:
    left = len(lines) - number
    more = "1 more line, which is" if left == 1 else f"{left:,} more lines, which are"
    mark = [f"[… {more} not shown …]"] if left else []
    return "\n".join([*lines[:number], *mark])


def counted(message: Message, encoding: str, tokens: int) -> Message:
    """The message with its token count beside it, as it is saved."""
    return msgspec.structs.replace(message, count=TokenCount(encoding, tokens))
