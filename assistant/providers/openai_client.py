"""The way to an OpenAI-compatible endpoint: its address and key, checked, and the SDK's client."""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec

from assistant.errors import NotConfigured
from assistant.providers.openai_errors import (
    CONNECT_TIMEOUT,
    Failure,
    is_loopback,
    plain,
    public_address,
)

if TYPE_CHECKING:
    import httpx2
    import openai

OPENAI_ADDRESS = "https://api.openai.com/v1"

#: Seconds between two attempts at most; an endpoint that asks for more is not waited for.
LONGEST_WAIT = 10.0

#: Servers that need no key still want the header; the SDK refuses to send an empty one.
NO_KEY = "none"

#: A shorter key is no secret, and taking it out of a text would spoil ordinary words.
SHORTEST_SECRET = 6


class Access(msgspec.Struct, frozen=True):
    """How an endpoint is reached.

    Without `base_url` it is OpenAI's own endpoint. `timeout` is in seconds: the longest silence.
    """

    base_url: str
    api_key: str
    timeout: float

    @property
    def address(self) -> str:
        """The endpoint's address without user, password and query."""
        return public_address(self.base_url or OPENAI_ADDRESS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no sentence may quote."""
        password = urlsplit(self.base_url).password or ""
        known = (self.api_key, password, unquote(password))
        return tuple(secret for secret in known if len(secret) >= SHORTEST_SECRET)

    def check(self) -> None:
        """Raise `NotConfigured` for what can be seen to be wrong without asking anyone."""
        if not self.base_url and not self.api_key:
            raise NotConfigured(
                "No model is set up. Run `assistant setup`, or put OPENAI_API_KEY in your .env, or "
                "OPENAI_BASE_URL for a server that needs no key."
            )
        if not re.match(r"https?://[^/]", self.address, re.IGNORECASE):
            raise NotConfigured(
                f"The address {self.address} must begin with http:// or https://. "
                "Correct OPENAI_BASE_URL in your .env."
            )
        if not re.fullmatch(r"[!-~]*", self.api_key):
            raise NotConfigured(
                "The API key has characters in it that no key has, such as spaces. "
                "Correct OPENAI_API_KEY in your .env."
            )

    def connect(self, connections: Connections) -> openai.OpenAI:
        """The SDK's client, which tries nothing twice by itself. Raises `NotConfigured`.

        What it connects stands in `connections`. Importing the SDK takes about a second. Nothing
        is sent.
        """
        import httpx2
        import openai

        timeout = httpx2.Timeout(self.timeout, connect=min(CONNECT_TIMEOUT, self.timeout))
        try:
            return openai.OpenAI(
                # Both are always given: else the SDK looks for them in the environment.
                api_key=self.api_key or NO_KEY,
                base_url=self.base_url or OPENAI_ADDRESS,
                timeout=timeout,
                # Its own retries wait up to two minutes in silence: `pause` is better.
                max_retries=0,
                http_client=openai.DefaultHttpx2Client(
                    timeout=timeout,
                    # A redirect would carry the conversation to an address nobody has set.
                    follow_redirects=False,
                    # A proxy can't reach the servers of this machine.
                    trust_env=not is_loopback(self.address),
                    event_hooks={"request": [connections.watch]},
                ),
            )
        except (OSError, ImportError, ValueError, httpx2.InvalidURL) as error:
            raise NotConfigured(
                f"No connection to {self.address} can be made: {plain(str(error), self.secrets)}. "
                "Check the address, and the proxy and certificate settings of your environment."
            ) from error


class Connections:
    """The connections a client has made, so that another thread can end them at any moment."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []

    def watch(self, request: httpx2.Request) -> None:
        """Hear of the connection made for `request`, if one is."""

        def trace(event: str, details: dict[str, Any]) -> None:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                made = details["return_value"].get_extra_info("socket")
                # A socket that was wrapped for TLS is no longer open itself.
                self._open = [one for one in self._open if one.fileno() != -1]
                self._open.append(made)

        request.extensions["trace"] = trace

    def hang_up(self) -> None:
        """End them all. Closing the client alone would not wake a thread that reads from one."""
        for connection in tuple(self._open):
            # It may have ended by itself.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Client:
    """The SDK's client of one endpoint, made when it is first needed. Threads may share it."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._lock = threading.Lock()
        self._loaded: openai.OpenAI | None = None
        self._connections = Connections()
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def get(self) -> openai.OpenAI | None:
        """The client; None once it was closed. Raises `NotConfigured`."""
        with self._lock:
            if self.closed:
                return None
            if self._loaded is None:
                self._access.check()
                self._loaded = self._access.connect(self._connections)
            return self._loaded

    def attempts(self, max_retries: int) -> Attempts:
        """For one request: none starts later than the endpoint's timeout after the first."""
        return Attempts(self._closed, time.monotonic() + self._access.timeout, max_retries)

    def close(self) -> None:
        """Close all connections for good; a request under way, or waited for, breaks off."""
        self._closed.set()
        self._connections.hang_up()
        with self._lock:
            if self._loaded is not None:
                self._loaded.close()


class Attempts:
    """The attempts at one request, until `deadline` on the monotonic clock."""

    def __init__(self, closed: threading.Event, deadline: float, max_retries: int) -> None:
        self._closed = closed
        self._deadline = deadline
        self._left = max_retries
        self._made = 0

    def again(self, failure: Failure) -> bool:
        """Wait until another attempt makes sense; False when none does."""
        wait = pause(failure, self._made)
        self._made += 1
        late = time.monotonic() + wait > self._deadline
        return not (self._made > self._left or late or self._closed.wait(wait))


def pause(failure: Failure, attempt: int) -> float:
    """Seconds until the next attempt makes sense; infinite if none does."""
    seconds = 0.5 * 2**attempt if failure.wait is None else failure.wait
    return seconds if failure.passing and seconds <= LONGEST_WAIT else float("inf")
