"""A chat endpoint on loopback for tests: it answers what it was told to, over real HTTP.

    with Endpoint() as endpoint:
        endpoint.reply("Hello.")
        ...
        assert endpoint.requests[0]["messages"][-1]["content"] == "Hi."

Each answer queued is for one request. With none queued it repeats what the user said, and embeds
texts by the letters in them. As a program of its own, `python -m tests.endpoint --echo --delay
0.05` prints its address and serves until it is killed.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote

MODEL = "test-model"

#: Seconds between two looks for a client that has gone, or for the end of the endpoint.
POLL = 0.01


class Endpoint:
    """An OpenAI-compatible endpoint on a free port of 127.0.0.1."""

    def __init__(self, *, delay: float = 0.0, key: str | None = None) -> None:
        """`delay` is the seconds between pieces of echoes; `key` the only one let in, if given."""
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests for a reply, in the order they came."""
        self.authorizations: list[str | None] = []
        """The Authorization header of each of them."""
        self.embedded: list[dict[str, Any]] = []
        """The bodies of the requests for vectors, in the order they came."""
        self.models: list[str | dict[str, Any]] = [MODEL]
        """What GET /v1/models lists: names, or whole entries."""
        self.respond: Callable[[dict[str, Any]], str] = lambda body: f"You said: {_typed(body)}"
        """Makes the reply to a request for which none is queued: by default an echo."""
        self._answers: deque[_Answer] = deque()
        self._vectors: deque[_Answer] = deque()
        self._delay = delay
        self._key = key
        self._lock = threading.Lock()
        self._left = threading.Semaphore(0)
        self._ending = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL,), name="endpoint"
        )

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._server.shutdown()
        self._thread.join()
        self._server.drop_connections()
        # Waits for the threads of all requests.
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address to give to a client: `http://127.0.0.1:PORT/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def reply(
        self,
        text: str = "",
        *,
        tool_calls: Sequence[Mapping[str, str]] = (),
        usage: Mapping[str, Any] | None = None,
        model: str = MODEL,
        finish_reason: str | None = None,
        delay: float = 0.0,
    ) -> None:
        """Queue a reply, streamed word by word.

        `tool_calls` have `id`, `name` and `arguments` (JSON text). `usage` is sent as it is, and
        only to who asks for it; by default it is counted in words.
        """
        reason = finish_reason or ("tool_calls" if tool_calls else "stop")
        self._add(_Answer(text, tuple(tool_calls), usage, model, reason, delay=delay))

    def fail(
        self, status: int, body: object = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Queue an answer that is no stream: a string is sent as text, anything else as JSON."""
        self._add(_Answer(status=status, body=body, headers=headers or {}))

    def break_after(self, text: str) -> None:
        """Queue a reply that breaks the connection after `text`; at once if that is empty."""
        self._add(_Answer(text, end="break"))

    def stall_after(self, text: str) -> None:
        """Queue a reply that falls silent after `text`, before even the headers if it is empty."""
        self._add(_Answer(text, end="stall"))

    def raw_stream(self, lines: Sequence[str], content_type: str = "text/event-stream") -> None:
        """Queue a stream of exactly these lines."""
        self._add(_Answer(lines=tuple(lines), headers={"Content-Type": content_type}))

    def embed(
        self,
        body: object = None,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        end: str = "",
    ) -> None:
        """Queue an answer to a request for vectors: a string is sent as text, else as JSON.

        `end` breaks the connection ("break") or falls silent ("stall") instead.
        """
        with self._lock:
            self._vectors.append(_Answer(status=status, body=body, headers=headers or {}, end=end))

    def client_left(self, timeout: float = 5.0) -> bool:
        """Whether a client leaves its reply unread within `timeout` seconds; each counts once."""
        return self._left.acquire(timeout=timeout)

    def _add(self, answer: _Answer) -> None:
        with self._lock:
            self._answers.append(answer)

    def _next(self, request: dict[str, Any], authorization: str | None) -> _Answer:
        with self._lock:
            self.requests.append(request)
            self.authorizations.append(authorization)
            if refusal := self._refusal(authorization):
                return refusal
            if self._answers:
                return self._answers.popleft()
        return _Answer(self.respond(request), delay=self._delay)

    def _next_vectors(self, request: dict[str, Any], authorization: str | None) -> _Answer:
        with self._lock:
            self.embedded.append(request)
            if refusal := self._refusal(authorization):
                return refusal
            if self._vectors:
                return self._vectors.popleft()
        return _Answer(body=embeddings([embedding(text) for text in request["input"]]))

    def _refusal(self, authorization: str | None) -> _Answer | None:
        if self._key is None or authorization == f"Bearer {self._key}":
            return None
        error = {"message": f"Bad key: {authorization}", "code": "invalid_api_key"}
        return _Answer(status=401, body={"error": error})

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"id": entry, "object": "model"} if isinstance(entry, str) else entry
            for entry in self.models
        ]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(_Handler):
            next_answer = staticmethod(endpoint._next)
            next_vectors = staticmethod(endpoint._next_vectors)
            listed = staticmethod(endpoint._listed)
            left = endpoint._left
            ending = endpoint._ending

        return Handler


@dataclass(frozen=True)
class _Answer:
    text: str = ""
    tool_calls: tuple[Mapping[str, str], ...] = ()
    usage: Mapping[str, Any] | None = None
    model: str = MODEL
    finish_reason: str = "stop"
    delay: float = 0.0
    end: str = ""
    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] | None = None


class _Handler(BaseHTTPRequestHandler):
    """One request. The five class attributes are filled in by the endpoint."""

    protocol_version = "HTTP/1.1"
    next_answer: Callable[[dict[str, Any], str | None], _Answer]
    next_vectors: Callable[[dict[str, Any], str | None], _Answer]
    listed: Callable[[], list[dict[str, Any]]]
    left: threading.Semaphore
    ending: threading.Event

    def do_GET(self) -> None:
        name = unquote(self.path.removeprefix("/v1/models").removeprefix("/"))
        models = self.listed()
        if not self.path.startswith("/v1/models"):
            self._send_whole(404, "404 page not found", {})
        elif not name:
            self._send_whole(200, {"object": "list", "data": models}, {})
        elif found := [model for model in models if model.get("id") == name]:
            self._send_whole(200, found[0], {})
        else:
            self._send_whole(404, {"detail": "Not Found"}, {})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = {"/v1/chat/completions": self.next_answer, "/v1/embeddings": self.next_vectors}
        if self.path not in answers:
            self._send_whole(404, "404 page not found", {})
            return
        answer = answers[self.path](request, self.headers.get("Authorization"))
        try:
            self._send(answer, request)
        except ConnectionError:
            self.left.release()

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""

    def _send(self, answer: _Answer, request: dict[str, Any]) -> None:
        if answer.body is not None:
            self._send_whole(answer.status, answer.body, answer.headers)
            return
        if answer.end and not answer.text:
            self._end_badly(answer.end)
            return
        self._start_stream(answer.headers.get("Content-Type", "text/event-stream"))
        lines = _lines(answer, request) if answer.lines is None else answer.lines
        for line in lines:
            self._send_chunk(f"{line}\n")
            if answer.delay and line.startswith("data:"):
                self._wait(answer.delay)
        if answer.end:
            self._end_badly(answer.end)
        else:
            self._send_chunk("")

    def _send_whole(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        content = body if isinstance(body, str) else json.dumps(body)
        kind = "text/plain" if isinstance(body, str) else "application/json"
        data = content.encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _start_stream(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def _send_chunk(self, text: str) -> None:
        """One piece of the body; an empty one ends it."""
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _end_badly(self, how: str) -> None:
        self.close_connection = True
        if how == "stall":
            self._wait(float("inf"))

    def _wait(self, seconds: float) -> None:
        """Do nothing, but notice a client that leaves. Raises ConnectionError then."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until and not self.ending.is_set():
            readable, _, _ = select.select([self.connection], [], [], min(POLL, until - now))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionAbortedError("the client left")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error here; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def drop_connections(self) -> None:
        """Free the threads that still wait for a client to speak."""
        with self._open_lock:
            for connection in self._open:
                # It may be gone already, from the other side.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def embedding(text: str) -> list[float]:
    """How often each letter stands in `text`, and one more for anything else."""
    return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] + [1.0]


def embeddings(vectors: Sequence[object]) -> dict[str, Any]:
    """The body of an answer with these vectors, as OpenAI sends it."""
    entries = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": entries, "model": MODEL, "usage": usage}


def _lines(answer: _Answer, request: dict[str, Any]) -> Iterator[str]:
    """The event stream of a reply, as OpenAI sends it."""
    yield from _event(_chunk(answer, {"role": "assistant", "content": ""}))
    for piece in _words(answer.text):
        yield from _event(_chunk(answer, {"content": piece}))
    if answer.end:
        return
    for index, call in enumerate(answer.tool_calls):
        for delta in _call_deltas(index, call):
            yield from _event(_chunk(answer, {"tool_calls": [delta]}))
    yield from _event(_chunk(answer, {}, answer.finish_reason))
    if request.get("stream_options", {}).get("include_usage"):
        usage = answer.usage or _counted(answer.text, request)
        yield from _event({**_chunk(answer, {}), "choices": [], "usage": usage})
    yield from ("data: [DONE]", "")


def _event(data: Mapping[str, Any]) -> tuple[str, str]:
    return f"data: {json.dumps(data)}", ""


def _chunk(answer: _Answer, delta: object, finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": answer.model,
        "choices": [choice],
    }


def _call_deltas(index: int, call: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A tool call as it streams: id and name first, then its arguments in two halves."""
    function = {"name": call["name"], "arguments": ""}
    yield {"index": index, "id": call["id"], "type": "function", "function": function}
    middle = len(call["arguments"]) // 2
    for half in (call["arguments"][:middle], call["arguments"][middle:]):
        yield {"index": index, "function": {"arguments": half}}


def _words(text: str) -> list[str]:
    """The text in pieces that begin with the space before a word."""
    first, *rest = text.split(" ") if text else [""]
    return [piece for piece in (first, *(f" {word}" for word in rest)) if piece]


def _counted(text: str, request: dict[str, Any]) -> dict[str, int]:
    prompt = sum(len(str(message.get("content")).split()) for message in request["messages"])
    completion = len(text.split())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _typed(request: dict[str, Any]) -> str:
    """The text of the last message that the user sent."""
    said = [message["content"] for message in request["messages"] if message["role"] == "user"]
    last = said[-1] if said else ""
    if isinstance(last, str):
        return last
    return " ".join(part["text"] for part in last if part["type"] == "text")


def main() -> None:
    parser = argparse.ArgumentParser(description="A chat endpoint that repeats what it is told.")
    parser.add_argument("--echo", action="store_true", required=True, help="repeat the user")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds between two words")
    arguments = parser.parse_args()
    with Endpoint(delay=arguments.delay) as endpoint:
        print(endpoint.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
