"""LocalChat: the embedded model, in a child process, spoken to like any other endpoint."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assistant.errors import (
    ChatModelError,
    NotConfigured,
    ServerFailed,
    StreamBroken,
    Unreachable,
)
from assistant.messages import Message, ToolCall
from assistant.prompt import ToolSchema
from assistant.protocols import ChatModel, ReplyPart
from assistant.providers import local_server
from assistant.providers.local_server import Answer, Order
from assistant.providers.local_tools import (
    TEXT_GRAMMAR,
    ids_spoken_of,
    results_since,
    said_by_user,
    tools_text,
    with_tools,
)
from assistant.providers.local_weights import OTHER_WAYS, QWEN, assembled, checked_model_file
from assistant.providers.openai_chat import OpenAIChat
from assistant.providers.openai_messages import new_call_id
from assistant.providers.plain_calls import without_calls

EMBEDDED_NAME = "qwen2.5-coder-1.5b"
EMBEDDED_ADDRESS = "embedded"

#: Seconds without a sign of life. A full window is read for minutes before the first word comes;
#: a child that died is noticed at once, without it.
SILENCE = 900.0

#: Seconds the child has to go by itself when it is told to.
PATIENCE = 0.5

#: Seconds a dying process takes at most to give its memory back, its connections being cut already.
DEATH = 2.0

#: How a reply ends whose server is no more.
_LOST = (Unreachable, ServerFailed, StreamBroken)

#: Ctrl-C in the terminal goes to every process of the group: the child stands apart.
_OWN_GROUP: dict[str, Any]
if sys.platform == "win32":
    _OWN_GROUP = {
        "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    }
else:
    _OWN_GROUP = {"start_new_session": True}

#: Ends a prompt that is only read ahead: many chat templates want a user to speak last.
_A_WORD = Message(role="user", content="…")

#: What a process returns that the system ended for an instruction the processor doesn't have.
_ILLEGAL_INSTRUCTION = (-4, 0xC000001D)
_KILLED = -9


class LocalChat:
    """The embedded model. Safe to share between threads; it answers one request at a time."""

    def __init__(
        self,
        weights_folder: Path,
        model_path: Path | None,
        *,
        threads: int,
        context_window: int,
        on_progress: Callable[[str], None],
        times_in: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        """The model file is put together in `weights_folder`, unless `model_path` names another.

        `context_window` is in tokens. `on_progress` gets a sentence whenever loading comes on, and
        an empty one when it is done, on the thread that loads. `times_in` gives the expressions of
        time in a text: a call has one of those, or no time. Nothing is read or started before
        `load`.
        """
        self._weights_folder = weights_folder
        self._model_path = model_path
        self._threads = threads
        self._context_window = context_window
        self._on_progress = on_progress
        self._times_in = times_in
        self._loading = threading.Lock()
        self._state = threading.Lock()
        self._closed = False
        self._child: _Child | None = None
        self._chat: OpenAIChat | None = None
        self._reading: ChatModel | None = None
        """The connection over which something is read ahead."""
        self._reads_ahead = True
        """Until the first reply is wanted, or the model is closed."""

    @property
    def name(self) -> str:
        """The embedded model's name, or that of the file in its place."""
        return self._model_path.stem if self._model_path else EMBEDDED_NAME

    @property
    def address(self) -> str:
        return EMBEDDED_ADDRESS

    @property
    def pid(self) -> int | None:
        """The process that holds the model, while there is one."""
        child = self._child
        return child.pid if child is not None and child.status() is None else None

    def load(self) -> None:
        """Have the model ready: seconds, and half a minute the first time. Raises `ChatModelError`.

        Does nothing while the model is running, and starts it again when its process has died.
        """
        self._ready()

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        """The tools as they stand in its system message."""
        return tools_text(tools)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        """The reply in pieces. Loads the model first where it isn't running (any more).

        With tools it is the calls that the message asks for, made of the user's own words; what a
        tool's result says; or text that doesn't begin like JSON.
        """
        self._stop_reading()
        for first in (True, False):
            running = self._ready()
            try:
                yield from running.chat.stream(
                    messages, tools=tools, may_call=may_call, max_tokens=max_tokens
                )
                return
            except _LOST as error:
                status = running.child.status(within=DEATH)
                if status is None or self._closed:
                    raise
                # Before the reply began: it may have died since the last one, so once more.
                if isinstance(error, StreamBroken) or not first:
                    raise _died(status, type(error)) from error

    def another(self, name: str | None = None) -> ChatModel:
        """The same process over another connection; it has one model, whatever `name` says."""
        running = self._ready()
        return running.chat.another()

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> None:
        """Have what every prompt begins with read before it is needed: it takes seconds.

        `messages` are those that will stand first, such as the system message. The first reply
        that is wanted ends it and reads on from there. Raises `ChatModelError`.
        """
        reading = self.another()
        try:
            with self._state:
                if not self._reads_ahead:
                    return
                self._reading = reading
            for _ in reading.stream((*messages, _A_WORD), tools=tools, max_tokens=1):
                pass
        except ChatModelError:
            if self._reads_ahead:
                raise
        finally:
            reading.close()

    def _stop_reading(self) -> None:
        with self._state:
            self._reads_ahead = False
            reading, self._reading = self._reading, None
        if reading is not None:
            reading.close()

    def context_window(self) -> int:
        """The window the model is started with, in tokens. Doesn't load it."""
        return self._context_window

    def close(self) -> None:
        """End the process, also one that is just loading; a reply under way breaks off."""
        self._stop_reading()
        with self._state:
            self._closed = True
            child, chat = self._child, self._chat
        if chat is not None:
            chat.close()
        if child is not None:
            child.end()

    def _ready(self) -> _Running:
        with self._loading:
            self._check_open()
            child, chat = self._child, self._chat
            if child is None or chat is None or child.status() is not None:
                child, chat = self._restart()
            return _Running(child, chat)

    def _restart(self) -> tuple[_Child, OpenAIChat]:
        self._release()
        model = self._model_file()
        self._on_progress("Starting the embedded model …")
        child = self._launch()
        try:
            chat = self._connect(child, model)
        except BaseException as error:
            # Also when Ctrl-C comes while we wait: no half-loaded process is left behind.
            child.end()
            if isinstance(error, ChatModelError):
                self._check_open()  # It may not have died: it was ended by `close`.
            raise
        self._on_progress("")
        return child, chat

    def _release(self) -> None:
        """Let go of a process that died, and of the connection to it."""
        with self._state:
            child, chat = self._child, self._chat
            self._child = self._chat = None
        if chat is not None:
            chat.close()
        if child is not None:
            child.end()

    def _model_file(self) -> Path:
        if find_spec("xllamacpp") is None:
            raise NotConfigured(
                "The library that runs an embedded model (xllamacpp) is not installed. "
                f"Install this program again with its extra `local`. {OTHER_WAYS}"
            )
        if self._model_path is not None:
            return checked_model_file(self._model_path)
        return assembled(QWEN, self._weights_folder, _Percent(self._on_progress, self._check_open))

    def _launch(self) -> _Child:
        with self._state:
            self._check_open()
            self._child = _Child()
            return self._child

    def _connect(self, child: _Child, model: Path) -> OpenAIChat:
        api_key = secrets.token_urlsafe(32)
        address = child.serve(
            {
                "model": str(model),
                "alias": self.name,
                "api_key": api_key,
                "n_ctx": self._context_window,
                "n_threads": self._threads,
            }
        )
        chat = ServedChat(
            self.name, base_url=f"{address}/v1", api_key=api_key, timeout=SILENCE, max_retries=0
        )
        chat.times_in = self._times_in
        with self._state:
            self._check_open()
            self._chat = chat
        chat.load()
        return chat

    def _check_open(self) -> None:
        if self._closed:
            raise ChatModelError("The embedded model was closed.")


@dataclass(frozen=True)
class _Running:
    child: _Child
    chat: OpenAIChat


class ServedChat(OpenAIChat):
    """The model as the child serves it: it only talks; calls are planned from the message."""

    times_in: Callable[[str], Sequence[str]] | None = None

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        if not tools:
            return super().stream(without_calls(messages), max_tokens=max_tokens)
        results = results_since(messages)
        if results:
            return self._answer(messages, results, tools, max_tokens)
        calls = self._calls(messages, tools) if may_call else ()
        if calls:
            return iter([ReplyPart(tool_calls=calls, finish_reason="tool_calls")])
        return self.stream_within(
            with_tools(messages, tools), grammar=TEXT_GRAMMAR, names=(), max_tokens=max_tokens
        )

    def _calls(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> tuple[ToolCall, ...]:
        """What the message asks the tools for; the model need not read it."""
        # Here, because their patterns take long to compile.
        from assistant.providers.local_plan import Said, planned
        from assistant.providers.local_words import times_in

        text = said_by_user(messages)
        times = times_in(text, self.times_in) if self.times_in else ()
        said = Said(text, tuple(times), tuple(ids_spoken_of(messages)))
        return tuple(
            ToolCall(new_call_id(), name, json.dumps(arguments, ensure_ascii=False))
            for name, arguments in planned(said, [tool["function"]["name"] for tool in tools])
        )

    def _answer(
        self,
        messages: Sequence[Message],
        results: Sequence[Message],
        tools: Sequence[ToolSchema],
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        """What is said of results: the store's own words, and the model's where it has none."""
        from assistant.providers.local_replies import answer_grammar, language_of, told

        language = language_of(said_by_user(messages))
        if text := told(results, language):
            return iter([ReplyPart(text=text), ReplyPart(finish_reason="stop")])
        return self.stream_within(
            with_tools(messages, tools),
            grammar=answer_grammar(language),
            names=(),
            max_tokens=max_tokens,
        )

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        return tools_text(tools)

    def another(self, name: str | None = None) -> ServedChat:
        other = ServedChat(
            self.name,
            base_url=self._access.base_url,
            api_key=self._access.api_key,
            timeout=self._access.timeout,
            max_retries=self._max_retries,
        )
        other.times_in = self.times_in
        return other


class _Child:
    """The process of `local_server`, seen from its parent."""

    def __init__(self) -> None:
        """Raises `ServerFailed` if no process can be started."""
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                # By its path and with -P: nothing in the folder one stands in is imported.
                [sys.executable, "-P", local_server.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                **_OWN_GROUP,
            )
        except OSError as error:
            raise ServerFailed(
                f"The embedded model's process can't be started ({error.strerror}). "
                f"Nothing was lost. Close other programs and ask again. {OTHER_WAYS}"
            ) from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def serve(self, order: Order) -> str:
        """Have it load the model; the address it serves at. Raises `ChatModelError`."""
        line = self._tell(order)
        if not line.endswith(b"\n"):
            raise _died(self._process.wait(), ServerFailed)
        answer: Answer = json.loads(line)
        if "error" in answer:
            raise _not_loaded(answer, order["model"])
        return answer["address"]

    def _tell(self, order: Order) -> bytes:
        """The line it answers with; nothing when it is gone, or was ended by another thread."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except (OSError, ValueError):
            return b""

    def status(self, *, within: float = 0.0) -> int | None:
        """What it returned, waiting for its end `within` seconds; None while it is running."""
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """End it, now; does nothing the second time. It has nothing that could be lost."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        if self.status(within=PATIENCE) is None:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class _Percent:
    """Tells in whole percents how far the weights are, and stops when the model is closed."""

    def __init__(self, tell: Callable[[str], None], check_open: Callable[[], None]) -> None:
        self._tell = tell
        self._check_open = check_open
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        self._check_open()
        percent = 100 * done // total
        if percent != self._last:
            self._last = percent
            self._tell(f"Putting the embedded model together, this once: {percent} %")


def _not_loaded(answer: Answer, model: str) -> ChatModelError:
    if answer["library_failed"]:
        return NotConfigured(
            "The library that runs the embedded model (xllamacpp) can't be loaded: "
            f"{answer['error']}. Nothing was lost. Install what it misses "
            f"(for libgomp.so.1 on Debian and Ubuntu: apt install libgomp1). {OTHER_WAYS}"
        )
    cause = answer["error"].rstrip(".")
    return ServerFailed(
        f"The model file {model} can't be loaded ({cause}). It is damaged, of a kind xllamacpp "
        "doesn't know, or memory is short. Nothing was lost. Close other programs and ask again; "
        f"a damaged embedded model is made anew when you delete its file. {OTHER_WAYS}"
    )


def _died(status: int, kind: type[ChatModelError]) -> ChatModelError:
    """The process ended by itself; `status` is what it returned."""
    if status in _ILLEGAL_INSTRUCTION:
        return NotConfigured(
            "The embedded model can't run on this computer: its processor lacks instructions the "
            f"model needs (AVX2). Nothing was lost. {OTHER_WAYS}"
        )
    if status == _KILLED:
        cause = "was ended by the system, most likely because memory ran out (it takes 1.5 GB)"
        advice = "Close other programs and ask again."
    else:
        ended = f"signal {-status}" if status < 0 else f"code {status}"
        cause, advice = f"broke down ({ended})", "Ask again: it is started anew."
    return kind(f"The embedded model {cause}. Nothing was lost. {advice} {OTHER_WAYS}")
