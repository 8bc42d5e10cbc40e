"""The summarizer: a model's notes on older messages, checked before anyone relies on them.

The notes roll: each summary is written from the one before and the messages since, and stays
within a bounded length over any number of rounds. A model may lose what a person would miss; a
scan of the covered text (`at_risk`) finds it, and what is lost is carried on word for word.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec

from assistant.errors import ALL_KEPT, ChatModelError, CompactionError, CompactionStopped
from assistant.memory.compaction.transcript import transcript_pieces
from assistant.memory.language import language_of, length_in_words
from assistant.messages import BROKEN, KeptItem, Language, Message, Summary
from assistant.protocols import ChatModel, TokenCounter

#: Tokens that one word of a summary may take: English takes 1.4, Chinese up to 1.5 a character.
TOKENS_A_WORD = 2
#: Tokens beside them: dashes, line ends, and a preamble that is taken off.
SLACK = 60
#: Words that any summary may have.
FEWEST_WORDS = 30
#: A longer piece of transcript at once makes models leave more of it out.
PIECE_TOKENS = 6_000
#: As many tokens of items are watched for being lost as this many kept sections hold.
WATCHED_SECTIONS = 4
#: What is between the parts of a request, and its roles.
REQUEST_OVERHEAD = 40


class SummaryPrompts(msgspec.Struct, frozen=True):
    """The instructions for one language; `{words}` in them is the bound."""

    summarize: str
    shorten: str


class SummaryBounds(msgspec.Struct, frozen=True):
    """How long a summary may get."""

    words: int = 300
    """Of its text; a Chinese character counts as a word."""
    kept_tokens: int = 400
    """Of the section that is carried on word for word."""


class Summarizer:
    """Writes summaries with a model of its own connection, so that it can be stopped.

    One at a time: the caller sees to that.
    """

    def __init__(
        self,
        open_model: Callable[[], ChatModel],
        counter: TokenCounter,
        prompts: Mapping[Language, SummaryPrompts],
        bounds: SummaryBounds,
        *,
        window: Callable[[], int],
        clock: Callable[[], datetime],
    ) -> None:
        """`window` gives the model's window in tokens as `counter` counts them."""
        self._open_model = open_model
        self._counter = counter
        self._prompts = prompts
        self._bounds = bounds
        self._window = window
        self._clock = clock
        self._model: ChatModel | None = None
        self._stopping = threading.Event()

    def summarize(
        self, messages: Sequence[Message], previous: Summary | None, instructions: str = ""
    ) -> Summary:
        """A summary that stands for what `previous` does and for `messages`, which follow it.

        Raises CompactionError when the model gives nothing that can be used, or was stopped.
        """
        language = language_of("\n".join(one.text for one in messages if one.role != "tool"))
        self._model = self._open_model()
        try:
            text = self._rolled(messages, previous, language, instructions)
            name = self._model.name
        except ChatModelError as error:
            if self._stopping.is_set():
                raise CompactionStopped(f"The summary was stopped. {ALL_KEPT}") from error
            reason = str(error).rstrip(" .")
            raise CompactionError(f"No summary could be made: {reason}. {ALL_KEPT}") from error
        finally:
            self._model.close()
            self._model = None
        kept, watched = self._kept(messages, previous, text)
        return Summary(
            text=text,
            covers=(previous.covers[0] if previous else messages[0].id, messages[-1].id),
            ts=self._clock(),
            kept=kept,
            watched=watched,
            language=language,
            model=name,
            instructions=instructions,
        )

    def ready(self) -> None:
        """Forget that the last one was stopped."""
        self._stopping.clear()

    def stop(self) -> None:
        """End the summary that is being written, from any thread; `summarize` raises then.

        Also one that is just about to begin, until `ready` is called.
        """
        self._stopping.set()
        model = self._model
        if model is not None:
            model.close()

    # --- the text -------------------------------------------------------------------------------

    def _rolled(
        self,
        messages: Sequence[Message],
        previous: Summary | None,
        language: Language,
        instructions: str,
    ) -> str:
        """The notes, updated with one piece of the transcript after the other."""
        notes = previous.text if previous else ""
        count = self._counter.count
        for piece in transcript_pieces(messages, language, self._piece_tokens(language), count):
            words = self._words_for(notes, piece)
            system = _with_words(self._prompts[language].summarize, words)
            request = _request(notes, piece, language, instructions)
            text = self._asked(system, request, language, words)
            if length_in_words(text) > words:
                text = self._shortened(text, language, words)
            _require_shorter(text, notes, piece, count)
            notes = text
        return notes

    def _words_for(self, notes: str, piece: str) -> int:
        """The bound of one summary: a few short messages get a shorter one than many long ones."""
        half = (length_in_words(notes) + length_in_words(piece)) // 2
        return min(self._bounds.words, max(FEWEST_WORDS, half))

    def _piece_tokens(self, language: Language) -> int:
        """What is left of the model's window for new messages."""
        fixed = self._counter.count(self._prompts[language].summarize) + REQUEST_OVERHEAD
        notes = reply = TOKENS_A_WORD * self._bounds.words
        return max(200, min(PIECE_TOKENS, self._window() - fixed - notes - reply))

    def _asked(self, system: str, request: str, language: Language, words: int) -> str:
        """The model's answer, when it is usable; a second try where only the language is wrong."""
        for _ in range(2):
            text = self._reply(system, request, words)
            _require_summary(text)
            if _right_language(text, language):
                return text
        raise CompactionError(
            f"The summary came back in another language than the conversation. {ALL_KEPT}"
        )

    def _shortened(self, text: str, language: Language, words: int) -> str:
        """Asked once to shorten; what is still too long is cut at a sentence."""
        system = _with_words(self._prompts[language].shorten, words)
        shorter = self._reply(system, text, words)
        usable = not _trouble(shorter) and _right_language(shorter, language)
        return cut_at_sentence(shorter if usable else text, words)

    def _reply(self, system: str, request: str, words: int) -> str:
        assert self._model is not None
        self._require_not_stopped()
        messages = (
            Message(role="system", content=system),
            Message(role="user", content=request),
        )
        longest = min(TOKENS_A_WORD * words + SLACK, max(1, self._window() // 3))
        pieces: list[str] = []
        finish_reason: str | None = None
        for part in self._model.stream(messages, max_tokens=longest):
            self._require_not_stopped()
            pieces.append(part.text)
            finish_reason = part.finish_reason or finish_reason
        if finish_reason in (BROKEN, "content_filter"):
            raise CompactionError(f"The summary was refused by the endpoint. {ALL_KEPT}")
        return without_preamble("".join(pieces))

    def _require_not_stopped(self) -> None:
        if self._stopping.is_set():
            raise CompactionStopped(f"The summary was stopped. {ALL_KEPT}")

    # --- what it would lose ---------------------------------------------------------------------

    def _kept(
        self, messages: Sequence[Message], previous: Summary | None, text: str
    ) -> tuple[tuple[KeptItem, ...], tuple[KeptItem, ...]]:
        """What the text lost and is carried on, and what it holds and could lose next."""
        # Here, because their patterns take long to compile and most sessions stay short.
        from assistant.memory.compaction.at_risk import at_risk
        from assistant.memory.compaction.kept import keep, lost, merged

        known = (*previous.kept, *previous.watched) if previous else ()
        bound, count = self._bounds.kept_tokens, self._counter.count
        items = merged([*known, *at_risk(messages)])
        gone = lost(items, text)
        held = [item for item in items if item not in gone]
        return (
            tuple(keep(gone, bound, count).items),
            tuple(keep(held, WATCHED_SECTIONS * bound, count).items),
        )


# --- what a model gives, and whether it is a summary --------------------------------------------

_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_PREAMBLE = re.compile(
    r"\A\s*((sure|certainly|of course|okay|here (is|are)|below (is|are)|updated notes"
    r"|notes( so far)?|summary|好的|当然|以下是|下面是|这是|更新后的记录|记录|摘要)"
    r"[^\n]{0,80}[:：][ \t]*\n)+",
    re.IGNORECASE,
)
# Phrases of services and refusals, which no note on a conversation begins with.
_ERROR = re.compile(
    r"\A\W*(error( code)?\W*[:\d]|error occurred|an error|exception\b|traceback\b"
    r"|!?(doctype|html|head|body|title|\?xml)\b[^\n]{0,40}>|upstream |no healthy upstream"
    r"|connection (refused|reset|timed out|error)"
    r"|http(/[\d.]+)? ?[45]\d\d"
    r"|[45]\d\d (bad|unauthorized|payment|forbidden|not found|request|too many|internal|service)"
    r"|rate limit|too many requests|insufficient_quota|internal server error|service unavailable"
    r"|bad gateway|request (failed|timed out)|context length exceeded|(i('m| am) )?sorry\b"
    r"|i (can(no|')t|am unable to|won't) (help|assist|comply|do that|fulfil|provide|summar|process)"
    r"|as an ai\b|错误[：:]|出错|请求(失败|超时|过多)|服务(不可用|器错误)|(很|非常)?(抱歉|对不起)"
    r"|我(无法|不能)(完成|帮助|协助|提供|回答|处理|总结|满足))",
    re.IGNORECASE,
)
_JSON_ERROR = re.compile(r'\A\s*\{\s*"(error|detail|message|code)"\s*:')
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|[。！？；\n]")


def _with_words(prompt: str, words: int) -> str:
    # Other braces of a user's own prompt file mean nothing.
    return prompt.replace("{words}", str(words))


def without_preamble(text: str) -> str:
    """What the model wrote, without its thoughts, a fence around it, or "Here are the notes:"."""
    text = _THINKING.sub("", text)
    fenced = _FENCE.match(text)
    return _PREAMBLE.sub("", fenced[1] if fenced else text).strip()


def cut_at_sentence(text: str, words: int) -> str:
    """The start of a text, `words` words at most, up to the end of a sentence or line.

    A text without any ends after its last whole word.
    """
    if length_in_words(text) <= words:
        return text
    low, high = 0, len(text)
    while low < high:  # the length of the longest start that is short enough
        middle = (low + high + 1) // 2
        low, high = (middle, high) if length_in_words(text[:middle]) <= words else (low, middle - 1)
    start = text[:low]
    ends = [found.end() for found in _SENTENCE_END.finditer(start)]
    if ends and ends[-1] > len(start) // 2:
        return start[: ends[-1]].strip()
    return start[: max(start.rfind(" "), 0) or None].strip()


def _trouble(text: str) -> str:
    """Why a text is no summary; empty when it may be one."""
    if not re.search(r"\w", text):
        return "The model answered with nothing."
    if _ERROR.match(text) or _JSON_ERROR.match(text):
        shown = " ".join(text.split())[:120]
        return f"The model answered with an error or a refusal instead of a summary: {shown}"
    return ""


def _require_summary(text: str) -> None:
    if trouble := _trouble(text):
        raise CompactionError(f"{trouble} {ALL_KEPT}")


def _require_shorter(text: str, notes: str, piece: str, count: Callable[[str], int]) -> None:
    if count(text) >= count(notes) + count(piece):
        raise CompactionError(f"The summary came out longer than what it stands for. {ALL_KEPT}")


def _right_language(text: str, language: Language) -> bool:
    return language_of(text) == language


def _request(notes: str, piece: str, language: Language, instructions: str) -> str:
    so_far, messages, attention = _HEADINGS[language]
    parts = [f"{so_far}\n{notes}"] if notes else []
    parts.append(f"{messages}\n{piece}")
    if instructions:
        parts.append(f"{attention}{instructions}")
    return "\n\n".join(parts)


_HEADINGS: dict[Language, tuple[str, str, str]] = {
    "en": ("Notes so far:", "Messages:", "Pay attention to this above all: "),
    "zh": ("已有的记录：", "新消息：", "请特别注意："),
}
