"""OpenAIEmbedder: an embedding model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assistant.errors import (
    ContextTooLong,
    EmbedderUnavailable,
    NotConfigured,
    RequestRejected,
    UnknownModel,
)
from assistant.messages import clean_text
from assistant.providers.openai_client import Access, Client
from assistant.providers.openai_errors import (
    Call,
    Failure,
    answer_of,
    foreign_errors,
    translate,
    wrong_address,
)
from assistant.providers.vectors import WORDS_ALONE, checked_vectors

if TYPE_CHECKING:
    import openai

    from assistant.protocols import Vector

#: Stands for a text without any characters to see, which endpoints reject.
NOTHING = "."


class OpenAIEmbedder:
    """An embedding model behind one endpoint. Safe to share between threads.

    openai is imported at first use, which takes about a second.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout: float,
        max_retries: int,
        dimension: int | None = None,
    ) -> None:
        """`timeout` is in seconds: the longest silence of the endpoint.

        `max_retries` counts further attempts at a request that failed; none begins later than
        `timeout` after the first. `dimension` asks for vectors shorter than the model's own, which
        not every model can make. Nothing is checked or sent before the first call.
        """
        self._model = model
        self._access = Access((base_url or "").strip(), (api_key or "").strip(), timeout)
        self._max_retries = max_retries
        self._asked_dimension = dimension
        self._dimension = dimension
        self._limits = _Limits()
        self._client = Client(self._access)

    @property
    def name(self) -> str:
        """The model's name, and the dimension where one was asked for: `model@512`."""
        return f"{self._model}@{self._asked_dimension}" if self._asked_dimension else self._model

    def dimension(self) -> int:
        """The length of its vectors; asks the endpoint once, where no dimension was asked for."""
        if self._dimension is None:
            self.embed_query(NOTHING)
        assert self._dimension is not None
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector for each text, in order; as many requests as it takes.

        A text is read as far as its first 6,000 characters, or as far as the endpoint takes it.
        Raises `EmbedderUnavailable` or `BadVectors`.
        """
        vectors: list[Vector] = []
        while len(vectors) < len(texts):
            limits = self._limits
            batch = limits.batch(texts, len(vectors))
            entries = self._ask(batch, limits)
            if entries is not None:
                vectors += self._checked(entries, len(batch))
        return vectors

    def embed_query(self, text: str) -> Vector:
        """The vector of a question. OpenAI's models make no difference between the two."""
        return self.embed_documents((text,))[0]

    def close(self) -> None:
        """Close all connections for good; a request under way breaks off."""
        self._client.close()

    def _opened(self) -> openai.OpenAI:
        try:
            client = self._client.get()
        except NotConfigured as error:
            raise self._unavailable(str(error)) from error
        if client is None:
            raise self._was_closed()
        return client

    def _ask(self, batch: Sequence[str], limits: _Limits) -> Sequence[_Entry] | None:
        """What the endpoint answers to the batch; None when it takes less, which is remembered.

        A failure that may pass is tried again.
        """
        client = self._opened()
        attempts = self._client.attempts(self._max_retries)
        while True:
            try:
                return self._post(client, batch)
            except foreign_errors() as error:
                if self._client.closed:
                    raise self._was_closed() from error
                failure = translate(error, self._call())
                if narrower := _narrower(limits, len(batch), error, failure):
                    self._limits = narrower
                    return None
                if not attempts.again(failure):
                    raise self._told(error, failure) from error

    def _post(self, client: openai.OpenAI, batch: Sequence[str]) -> Sequence[_Entry]:
        """The entries of the answer, as they came."""
        import httpx2
        import openai

        body: dict[str, Any] = {"model": self._model, "input": batch, "encoding_format": "float"}
        if self._asked_dimension:
            body["dimensions"] = self._asked_dimension
        response = client.post("/embeddings", cast_to=httpx2.Response, body=body)
        try:
            answer = msgspec.json.decode(response.content, type=_Answer)
        except ValueError as error:
            raise self._not_vectors() from error
        if answer.error:
            # Some servers and gateways report errors with status 200.
            request = response.request
            raise openai.APIError("An error with status 200", request, body=answer.error)
        if answer.data is None:
            raise self._not_vectors()
        return answer.data

    def _checked(self, entries: Sequence[_Entry], count: int) -> Sequence[Vector]:
        vectors = checked_vectors(
            _in_order(entries), count=count, dimension=self._dimension, name=self.name
        )
        self._dimension = len(vectors[0])
        return vectors

    def _told(self, error: Exception, failure: Failure) -> EmbedderUnavailable:
        """The failure as one of an embedder: what chat would advise may not help here."""
        import openai

        place, said = self._call().place, failure.error
        if isinstance(said, UnknownModel):
            return self._unavailable(
                f"{place} has no model named {self._model}. Check EMBEDDING_MODEL in your .env."
            )
        if isinstance(error, openai.APIStatusError) and error.status_code in (404, 405):
            return self._unavailable(
                f"{place} has no embeddings API here. {wrong_address(self._access.address)}"
            )
        if isinstance(said, RequestRejected | ContextTooLong) and isinstance(
            error, openai.APIError
        ):
            answer = answer_of(error, self._access.secrets)
            return self._unavailable(
                f"{place} rejected the request{answer.quoted}. Choose another embedding model."
            )
        return self._unavailable(str(said))

    def _unavailable(self, reason: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"No vectors from {self._model}: {reason} {WORDS_ALONE}")

    def _not_vectors(self) -> EmbedderUnavailable:
        address = self._access.address
        return self._unavailable(
            f"{address} answered with something else. {wrong_address(address)}"
        )

    def _was_closed(self) -> EmbedderUnavailable:
        return self._unavailable(f"the connection to {self._access.address} was closed.")

    def _call(self) -> Call:
        return Call(
            address=self._access.address,
            model=self._model,
            secrets=self._access.secrets,
            has_key=bool(self._access.api_key),
            timeout=self._access.timeout,
            begun=False,
            names=lambda: (),
        )


# --- What an endpoint takes ---------------------------------------------------------------------


class _Limits(msgspec.Struct, frozen=True):
    """What one request may hold, as far as this endpoint is known to take it.

    OpenAI takes 2,048 texts of 8,191 tokens each, at most one token for a Chinese character;
    others take 10 texts, or 512 tokens.
    """

    count: int = 64
    length: int = 6_000
    """Characters of one text."""
    total: int = 60_000
    """Characters of all texts."""

    def batch(self, texts: Sequence[str], start: int) -> Sequence[str]:
        """The texts from `start` on that go into one request, as they are sent."""
        batch: list[str] = []
        room = self.total
        for text in texts[start : start + self.count]:
            sent = _sent(text, self.length)
            room -= len(sent)
            if batch and room < 0:
                break
            batch.append(sent)
        return batch


#: Shorter texts than this, in characters, are not cut down any further.
SHORTEST_CUT = 200

_TOO_MANY = r"(?i)batch|too many (inputs|texts)|(input|array).{0,40}(items|elements|length|at most)"


def _narrower(limits: _Limits, sent: int, error: Exception, failure: Failure) -> _Limits | None:
    """Half of what `error` says was too much; None if it says no such thing."""
    import openai

    if not isinstance(error, openai.APIStatusError):
        return None
    if not isinstance(failure.error, ContextTooLong | RequestRejected):
        return None
    if sent > 1 and answer_of(error).mentions(_TOO_MANY):
        return msgspec.structs.replace(limits, count=max(1, sent // 2))
    if isinstance(failure.error, ContextTooLong) and limits.length > SHORTEST_CUT:
        return msgspec.structs.replace(limits, length=max(SHORTEST_CUT, limits.length // 2))
    return None


def _sent(text: str, length: int) -> str:
    """`text` as an endpoint takes it: valid UTF-8, not too long, not empty, no NUL."""
    cut = clean_text(text[:length]).replace("\0", " ")
    return cut if cut.strip() else NOTHING


# --- What it answers ----------------------------------------------------------------------------


class _Entry(msgspec.Struct):
    embedding: list[float]
    index: int | None = None
    """Which text it is of. Not every server numbers them."""


class _Answer(msgspec.Struct):
    data: list[_Entry] | None = None
    error: object = None


def _in_order(entries: Sequence[_Entry]) -> Sequence[list[float]]:
    """The embeddings in the order of the texts; fewer than entries when one comes twice."""
    at = {
        place if entry.index is None else entry.index: entry.embedding
        for place, entry in enumerate(entries)
    }
    return [at[index] for index in sorted(at)]
