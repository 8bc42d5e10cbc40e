"""OpenAIChat: a model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from assistant.errors import ChatModelError, ServerFailed, StreamBroken
from assistant.messages import Message
from assistant.prompt import ToolSchema
from assistant.protocols import ReplyPart
from assistant.providers.call_reader import CallReader
from assistant.providers.openai_client import Access, Client
from assistant.providers.openai_errors import (
    Call,
    Failure,
    answer_of,
    foreign_errors,
    translate,
    wrong_address,
)
from assistant.providers.openai_messages import Reply, SentBack, request_messages, sendable
from assistant.providers.plain_calls import without_calls
from assistant.providers.tool_text import namespace_text

if TYPE_CHECKING:
    import openai

#: Seconds that looking for models may take in all.
LOOKUP_TIMEOUT = 5.0

T = TypeVar("T")


class OpenAIChat:
    """A model behind one endpoint. Safe to share between threads.

    openai is imported at first use, which takes about a second: call `load` on a worker.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout: float,
        max_retries: int,
    ) -> None:
        """`timeout` is in seconds: the longest silence, before the reply and within it.

        `max_retries` counts further attempts at a request that failed before its reply began.
        Without `base_url` it is OpenAI's own endpoint. Nothing is checked before `load`.
        """
        self._name = name
        self._access = Access((base_url or "").strip(), (api_key or "").strip(), timeout)
        self._max_retries = max_retries
        self._client = Client(self._access)
        self._dialect = _Dialect.of(name)
        self._sent_back = SentBack(name)

    @property
    def name(self) -> str:
        """The model's name, as sent to the endpoint."""
        return self._name

    @property
    def address(self) -> str:
        """The endpoint's address without user, password and query."""
        return self._access.address

    @property
    def takes_tools(self) -> bool:
        """False once the endpoint has refused tools; they are not sent any more then."""
        return self._dialect.tools

    def load(self) -> None:
        """Import the SDK and make its client; does nothing the second time. Nothing is sent.

        Raises `NotConfigured` when there is neither key nor address, or one can't be used.
        """
        self._opened()

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        """What the tools add to the prompt, about; empty once the endpoint has refused tools."""
        return namespace_text(tools) if self.takes_tools else ""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        """The reply in pieces: its text as it comes, then one part with all that ends it.

        A reply that is nothing but a call written as JSON is taken for that call. Closing the
        iterator closes the connection. After the first text every failure is a `StreamBroken`.
        """
        request = _Request(messages, [sendable(dict(tool)) for tool in tools], may_call, max_tokens)
        with self._open(request) as stream:
            names = {tool["function"]["name"] for tool in tools}
            offered = names if may_call and self.takes_tools else set()
            yield from self._parts(stream, CallReader(offered), may_call=may_call)

    def stream_within(
        self,
        messages: Sequence[Message],
        *,
        grammar: str,
        names: Collection[str],
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        """The same, held to a grammar, which only llama.cpp's server takes (GBNF).

        `names` are the tools that a reply written as JSON may call.
        """
        request = _Request(messages, [], True, max_tokens, {"grammar": grammar})
        with self._open(request) as stream:
            yield from self._parts(stream, CallReader(names), may_call=bool(names))

    def another(self, name: str | None = None) -> OpenAIChat:
        """The same model, or one named `name` at the same endpoint, over its own connection."""
        return OpenAIChat(
            name or self._name,
            base_url=self._access.base_url,
            api_key=self._access.api_key,
            timeout=self._access.timeout,
            max_retries=self._max_retries,
        )

    def context_window(self) -> int | None:
        """The window the endpoint itself names for this model, in tokens.

        None if it doesn't, or not within five seconds. Never raises.
        """
        return _in_time(self._ask_window)

    def list_models(self) -> list[str]:
        """The names of the endpoint's models, sorted. Raises `ChatModelError`."""
        entries = _entries(self._get("/models"))
        if entries is None:
            raise ServerFailed(
                f"{self.address} does not list its models. {wrong_address(self.address)}"
            )
        return sorted({entry["id"] for entry in entries})

    def close(self) -> None:
        """Close all connections for good; a reply under way, or waited for, breaks off."""
        self._client.close()

    def _opened(self) -> openai.OpenAI:
        client = self._client.get()
        if client is None:
            raise self._was_closed()
        return client

    def _open(self, request: _Request) -> openai.Stream[object]:
        """Send the request and give the stream of its reply, once that begins.

        What the endpoint doesn't take is left out, and remembered. A failure that may pass is
        tried again, but no new attempt starts later than `timeout` seconds after the first.
        """
        client = self._opened()
        attempts = self._client.attempts(self._max_retries)
        while True:
            dialect = self._dialect
            said = dialect.body(request, self._sent_back)
            body = {"model": self._name, "stream": True, **said}
            try:
                return _post(client, body)
            except foreign_errors() as error:
                if adapted := _adapted(dialect, request, error):
                    self._dialect = adapted
                    continue
                failure = self._failure(error)
                if not attempts.again(failure):
                    raise failure.error from error

    def _parts(
        self, stream: openai.Stream[object], reader: CallReader, *, may_call: bool
    ) -> Iterator[ReplyPart]:
        reply = Reply()
        events = _events(stream)
        silent = True
        while True:
            try:
                text = reader.add(reply.add(next(events)))
            except StopIteration:
                break
            except foreign_errors() as error:
                if reply.finished:
                    # The reply is whole: only its usage may be missing.
                    break
                if held := reader.rest():
                    yield ReplyPart(text=held)
                raise self._failure(error, begun=reply.begun).error from error
            silent = False
            if text:
                yield ReplyPart(text=text)
        if silent:
            raise ServerFailed(
                f"{self.address} answered, but not with a reply. {wrong_address(self.address)}"
            )
        calls = reply.calls() if may_call else ()
        if reply.finished and not calls:
            calls = reader.calls()
        if held := reader.rest():
            yield ReplyPart(text=held)
        if not reply.finished:
            raise StreamBroken(f"The reply of {self._name} stopped before its end. Ask again.")
        last = reply.last_part(calls)
        self._sent_back.keep(last, reply.reasoning)
        yield last

    def _ask_window(self) -> int | None:
        """From the model's own entry, else from the list. Raises `ChatModelError`."""
        try:
            entry = self._get(f"/models/{quote(self._name, safe='')}")
        except ChatModelError:
            entry = None
        return _window(entry) or _window(self._listed())

    def _listed(self) -> object:
        """This model's entry in the list; a list of one is of a server that has but one model."""
        entries = _entries(self._get("/models")) or []
        if len(entries) == 1:
            return entries[0]
        return next((entry for entry in entries if entry["id"] == self._name), None)

    def _get(self, path: str) -> object:
        """The JSON at `path`, once and in LOOKUP_TIMEOUT seconds. Raises `ChatModelError`."""
        client = self._opened()
        try:
            return client.get(path, cast_to=object, options={"timeout": LOOKUP_TIMEOUT})
        except foreign_errors() as error:
            if self._client.closed:
                raise self._was_closed() from error
            call = msgspec.structs.replace(self._call(), timeout=LOOKUP_TIMEOUT, names=lambda: ())
            raise translate(error, call).error from error

    def _failure(self, error: Exception, *, begun: bool = False) -> Failure:
        if self._client.closed:
            return Failure(self._was_closed())
        return translate(error, msgspec.structs.replace(self._call(), begun=begun))

    def _was_closed(self) -> ChatModelError:
        return StreamBroken(f"The connection to {self.address} was closed.")

    def _call(self) -> Call:
        return Call(
            address=self.address,
            model=self._name,
            secrets=self._access.secrets,
            has_key=bool(self._access.api_key),
            timeout=self._access.timeout,
            begun=False,
            names=lambda: _in_time(self.list_models) or (),
        )


# --- What an endpoint takes ---------------------------------------------------------------------


class _Request(msgspec.Struct, frozen=True):
    """What is asked for, before it is put in the endpoint's own terms."""

    messages: Sequence[Message]
    tools: list[Any]
    may_call: bool
    max_tokens: int
    extra: dict[str, Any] = {}
    """What only this kind of server knows."""

    @property
    def has_calls(self) -> bool:
        """Whether calls of tools stand in the conversation."""
        return any(message.role == "tool" or message.tool_calls for message in self.messages)


class _Dialect(msgspec.Struct, frozen=True):
    """The optional parts of a request, as far as this endpoint is known to take them."""

    limit_name: str
    limit_swapped: bool = False
    usage: bool = True
    tools: bool = True
    tool_choice: bool = True
    tool_messages: bool = True
    reasoning: bool = False
    """Whether it wants back what led to each call; others refuse a request with that in it."""

    @classmethod
    def of(cls, model: str) -> _Dialect:
        """What a model of that name most likely takes."""
        return cls("max_completion_tokens" if _REASONS.search(model) else "max_tokens")

    def body(self, request: _Request, sent_back: SentBack) -> dict[str, Any]:
        """The request, all but the model's name."""
        messages = request.messages
        if request.has_calls and not (self.tools and self.tool_messages):
            messages = without_calls(messages)
        body = {
            "messages": request_messages(messages, sent_back, reasoning=self.reasoning),
            self.limit_name: request.max_tokens,
            **request.extra,
        }
        if self.usage:
            body["stream_options"] = {"include_usage": True}
        # Where a call can't be forbidden, none is made when no tool is offered.
        if request.tools and self.tools and (request.may_call or self.tool_choice):
            body["tools"] = request.tools
            if not request.may_call:
                body["tool_choice"] = "none"
        return body

    def without(self, request: _Request, refusal: str) -> _Dialect | None:
        """What to send instead after `refusal`; None if it speaks of nothing that can change."""
        if self.tool_choice and not request.may_call and "tool_choice" in refusal:
            return msgspec.structs.replace(self, tool_choice=False)
        flat = not (self.tools and self.tool_messages)
        if request.has_calls and not flat:
            wants_reasoning = re.search(_WANTS_REASONING, refusal)
            if wants_reasoning and not self.reasoning:
                return msgspec.structs.replace(self, reasoning=True)
            unknown = "extra_content" in refusal and re.search(_UNSUPPORTED, refusal)
            if wants_reasoning or unknown or re.search(_NO_TOOL_MESSAGES, refusal):
                return msgspec.structs.replace(self, tool_messages=False)
        if self.tools and re.search(_NO_TOOLS, refusal):
            return msgspec.structs.replace(self, tools=False)
        if not re.search(_UNSUPPORTED, refusal):
            return None
        if self.usage and re.search(r"stream_options|include_usage", refusal):
            return msgspec.structs.replace(self, usage=False)
        if not self.limit_swapped and re.search(rf"\b{self.limit_name}\b", refusal):
            names = {"max_tokens", "max_completion_tokens"}
            (other,) = names - {self.limit_name}
            return msgspec.structs.replace(self, limit_name=other, limit_swapped=True)
        return None


# Patterns for refusals are compiled when there is one: the prompt need not wait for them.

#: OpenAI's reasoning models, under whatever prefix an endpoint names them.
_REASONS = re.compile(r"(?:^|[/:])(?:o\d|gpt-(?:[5-9]|\d\d))(?![a-z])", re.IGNORECASE)

_UNSUPPORTED = (
    r"(?i)unsupported|not support|unrecognized|unknown|unexpected|extra[_ ](input|field|forbidden)"
    r"|not permitted|not allowed|invalid (param|arg|field)|no such"
)
_NO_TOOLS = (
    r"(?i)does not support (tools|function)|tools?( use| calling)? (is|are) not supported"
    r"|tool choice requires|no endpoints found that support tool|tools param requires"
)

#: How servers and chat templates refuse a conversation with calls and results in it.
_NO_TOOL_MESSAGES = (
    r"(?is)\brole\b.{0,60}\btool\b|\btool\b.{0,20}\brole\b"
    r"|roles must alternate|only user.{0,40}roles"
    r"|messages?\b.{0,20}\brole\b.{0,60}(input should be|must be|invalid)"
    r"|(tools?|toolConfig)\b.{0,40}(must be|required|expected|passed|defined).{0,60}tool"
    # Gemini, of calls without its signature, or with another's.
    r"|(missing|invalid|corrupted).{0,20}\bthought[_ ]?signature"
    # Mistral and its template, then OpenAI, of ids that another endpoint gave.
    r"|\btool[_ ]call[_ ]ids?\b.{0,200}(must be|should be|too long)"
    r"|\btool_calls\W{0,2}\d+\W{1,3}id\b.{0,20}too long"
)

#: How DeepSeek and Moonshot ask for the reasoning that led to a call.
_WANTS_REASONING = (
    r"(?is)\breasoning[_ ]content\b.{0,60}(passed back|missing|required)"
    r"|\bmissing.{0,20}\breasoning[_ ]content\b"
)


def _adapted(dialect: _Dialect, request: _Request, error: Exception) -> _Dialect | None:
    import openai

    if not isinstance(error, openai.APIStatusError):
        return None
    return dialect.without(request, answer_of(error).text)


# --- The SDK ------------------------------------------------------------------------------------


def _post(client: openai.OpenAI, body: dict[str, Any]) -> openai.Stream[object]:
    """Chunks as plain JSON: the SDK's own types promise more than other servers keep."""
    import openai

    return client.post(
        "/chat/completions",
        cast_to=object,
        body=body,
        stream=True,
        stream_cls=openai.Stream[object],
    )


def _events(stream: openai.Stream[object]) -> Iterator[object]:
    """The events of a reply. A server that can't stream sends one: the whole completion."""
    if not stream.response.headers.get("content-type", "").startswith("application/json"):
        yield from stream
        return
    import openai

    answer = json.loads(stream.response.read())
    if isinstance(answer, dict) and answer.get("error"):
        # Some servers and gateways report errors with status 200.
        request = stream.response.request
        raise openai.APIError("An error with status 200", request, body=answer["error"])
    if isinstance(answer, dict) and answer.get("choices"):
        yield answer


# --- Models -------------------------------------------------------------------------------------

#: Where servers keep a model's window, what is really in use before what would be possible:
#: LM Studio, vLLM and SGLang, llama.cpp, OpenRouter (twice), Groq, Mistral, llama.cpp again.
_WINDOW_PLACES = (
    ("loaded_context_length",),
    ("max_model_len",),
    ("meta", "n_ctx"),
    ("top_provider", "context_length"),
    ("context_length",),
    ("context_window",),
    ("max_context_length",),
    ("meta", "n_ctx_train"),
)


def _window(entry: object) -> int | None:
    found = (_at(entry, place) for place in _WINDOW_PLACES)
    return next((n for n in found if isinstance(n, int) and n > 1), None)


def _at(entry: object, place: tuple[str, ...]) -> object:
    for name in place:
        entry = entry.get(name) if isinstance(entry, dict) else None
    return entry


def _entries(answer: object) -> list[dict[str, Any]] | None:
    """The models of a list of models, each with an `id`; None if it is no such list."""
    listed = answer
    if isinstance(answer, dict):
        if "data" not in answer:
            return None
        # Ollama without any model says null.
        listed = answer["data"] or []
    if not isinstance(listed, list):
        return None
    return [
        entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]


def _in_time(ask: Callable[[], T]) -> T | None:
    """What `ask` answers within LOOKUP_TIMEOUT seconds; None if it fails or takes longer.

    On a thread of its own, since nothing else bounds a name lookup or an answer that trickles.
    """
    answers: queue.SimpleQueue[T | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except ChatModelError:
            answers.put(None)

    threading.Thread(target=run, name="model lookup", daemon=True).start()
    try:
        return answers.get(timeout=LOOKUP_TIMEOUT)
    except queue.Empty:
        return None
