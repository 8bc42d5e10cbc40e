"""OpenAIEmbedder against a real endpoint on loopback, through the real SDK."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.errors import BadVectors, EmbedderError, EmbedderUnavailable
from assistant.protocols import Embedder
from assistant.providers.openai_embedder import NOTHING, OpenAIEmbedder
from tests.endpoint import Endpoint, embedding, embeddings

KEY = "key-4f9c2b71d8e6"
WORDS_ALONE = "Nothing was lost, and recall goes on by words alone."
ROOT = Path(__file__).parents[2]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def embedder(endpoint: Endpoint) -> Iterator[OpenAIEmbedder]:
    embedder = made(endpoint)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def tables() -> Iterator[tuple[Endpoint, OpenAIEmbedder]]:
    """One endpoint and embedder for the long tables, whose cases leave nothing behind in them."""
    with Endpoint() as endpoint:
        embedder = made(endpoint)
        embedder.dimension()
        yield endpoint, embedder
        embedder.close()


def made(endpoint: Endpoint, model: str = "small", **changes: Any) -> OpenAIEmbedder:
    options = {"base_url": endpoint.url, "api_key": KEY, "timeout": 5.0, "max_retries": 0}
    return OpenAIEmbedder(model, **{**options, **changes})


def unit(numbers: list[float]) -> list[float]:
    return list(np.array(numbers) / np.linalg.norm(numbers))


def said(failure: pytest.ExceptionInfo[EmbedderError]) -> str:
    return str(failure.value)


# Vectors


def test_one_vector_a_text_in_order_and_of_length_one(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    vectors = embedder.embed_documents(["tea", "coffee"])

    assert [list(vector) for vector in vectors] == [
        pytest.approx(unit(embedding("tea"))),
        pytest.approx(unit(embedding("coffee"))),
    ]
    assert {vector.dtype for vector in vectors} == {np.dtype(np.float32)}
    assert endpoint.embedded == [
        {"model": "small", "input": ["tea", "coffee"], "encoding_format": "float"}
    ]


def test_is_an_embedder(embedder: OpenAIEmbedder) -> None:
    as_protocol: Embedder = embedder
    assert as_protocol.name == "small"
    assert list(as_protocol.embed_query("tea")) == pytest.approx(unit(embedding("tea")))


def test_the_dimension_is_asked_for_once(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    assert embedder.dimension() == 27
    assert embedder.dimension() == 27
    assert len(endpoint.embedded) == 1


def test_a_dimension_that_was_set_is_sent_and_named(endpoint: Endpoint) -> None:
    embedder = made(endpoint, dimension=27)
    assert embedder.dimension() == 27
    assert endpoint.embedded == []

    embedder.embed_query("tea")

    assert endpoint.embedded[0]["dimensions"] == 27
    assert embedder.name == "small@27"
    embedder.close()


def test_vectors_are_put_in_the_order_of_the_texts(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    body = embeddings([[1, 0], [0, 1]])
    body["data"].reverse()
    endpoint.embed(body)
    assert [list(v) for v in embedder.embed_documents(["one", "two"])] == [[1, 0], [0, 1]]


def test_an_endpoint_that_does_not_number_them_is_taken_at_its_order(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    endpoint.embed({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]})
    assert [list(v) for v in embedder.embed_documents(["one", "two"])] == [[1, 0], [0, 1]]


def test_no_texts_are_no_request(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    assert embedder.embed_documents([]) == []
    assert endpoint.embedded == []


# Texts


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", NOTHING),
        (" \n\t", NOTHING),
        ("\0", NOTHING),
        ("a\0b", "a b"),
        ("a\ud83d", "a\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("喝茶", "喝茶"),
    ],
    ids=["empty", "blank", "NUL", "NUL inside", "surrogate", "pair", "chinese"],
)
def test_any_text_is_sent_as_endpoints_take_it(
    tables: tuple[Endpoint, OpenAIEmbedder], text: str, sent: str
) -> None:
    endpoint, embedder = tables
    embedder.embed_documents([text])
    assert endpoint.embedded[-1]["input"] == [sent]


def test_a_long_text_is_cut(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    embedder.embed_documents(["tea " * 50_000])
    assert endpoint.embedded[0]["input"] == ["tea " * 1_500]


def test_batches_are_small_in_number_and_in_characters(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    many = [f"text {number}" for number in range(150)]
    assert len(embedder.embed_documents(many)) == 150
    assert [len(request["input"]) for request in endpoint.embedded] == [64, 64, 22]
    assert [text for request in endpoint.embedded for text in request["input"]] == many

    embedder.embed_documents(["x" * 6_000] * 25)
    assert [len(request["input"]) for request in endpoint.embedded[3:]] == [10, 10, 5]


def test_batches_become_as_small_as_the_endpoint_wants_them(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    refusal = {"message": "batch size is invalid, it should not be larger than 10."}
    for _ in range(3):
        endpoint.embed({"error": refusal}, status=400)

    assert len(embedder.embed_documents([str(number) for number in range(20)])) == 20
    assert [len(request["input"]) for request in endpoint.embedded] == [20, 10, 5, 2] + [2] * 9


def test_texts_become_as_short_as_the_endpoint_wants_them(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    refusal = {"message": "This model's maximum context length is 512 tokens."}
    for _ in range(2):
        endpoint.embed({"error": refusal}, status=400)

    embedder.embed_query("x" * 9_000)
    embedder.embed_query("x" * 9_000)

    lengths = [len(request["input"][0]) for request in endpoint.embedded]
    assert lengths == [6_000, 3_000, 1_500, 1_500]


def test_an_endpoint_that_finds_everything_too_long_is_given_up(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    for _ in range(10):
        endpoint.embed({"error": {"message": "maximum context length is 512"}}, status=400)
    with pytest.raises(EmbedderUnavailable, match="maximum context length is 512"):
        embedder.embed_query("x" * 9_000)
    assert len(endpoint.embedded) == 6


# What an endpoint may get wrong


@pytest.mark.parametrize(
    ("vectors", "what"),
    [
        ([[1.0] * 27], "1 for 2 texts"),
        ([[1.0] * 27] * 3, "3 for 2 texts"),
        ([[1.0] * 27, [1.0] * 26], "not rows of numbers"),
        ([[1.0] * 26] * 2, "of 26 numbers instead of 27"),
        ([[], []], "not rows of numbers"),
        ([], "not rows of numbers"),
        ([[0.0] * 27] * 2, "without a direction"),
        ([[1e300] * 27] * 2, "without a direction"),
    ],
    ids=["fewer", "more", "ragged", "shorter", "empty", "none", "zero", "huge"],
)
def test_vectors_that_can_not_be_used(
    tables: tuple[Endpoint, OpenAIEmbedder], vectors: list[list[float]], what: str
) -> None:
    endpoint, embedder = tables
    endpoint.embed(embeddings(vectors))
    with pytest.raises(BadVectors) as failure:
        embedder.embed_documents(["one", "two"])
    assert what in said(failure)
    assert WORDS_ALONE in said(failure)


def test_one_text_twice_is_one_too_few(tables: tuple[Endpoint, OpenAIEmbedder]) -> None:
    endpoint, embedder = tables
    endpoint.embed({"data": [{"index": 0, "embedding": [1.0] * 27}] * 2})
    with pytest.raises(BadVectors, match="1 for 2 texts"):
        embedder.embed_documents(["one", "two"])


@pytest.mark.parametrize(
    "body",
    [
        "<html><body>Welcome</body></html>",
        "not JSON",
        "[" * 100_000,
        "null",
        {},
        {"data": "none"},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": "AACAPwAAAAA="}]},
        {"data": [{"index": 0, "embedding": [None]}]},
        '{"data": [{"index": 0, "embedding": [NaN]}]}',
    ],
    ids=["html", "text", "deep", "null", "empty", "word", "no vector", "base64", "holes", "NaN"],
)
def test_answers_that_are_no_vectors(tables: tuple[Endpoint, OpenAIEmbedder], body: object) -> None:
    endpoint, embedder = tables
    endpoint.embed(body)
    with pytest.raises(EmbedderUnavailable) as failure:
        embedder.embed_query("tea")
    assert "answered with something else" in said(failure)
    assert WORDS_ALONE in said(failure)


@pytest.mark.parametrize(
    ("status", "body", "what"),
    [
        (401, {"error": {"message": f"Bad key {KEY}"}}, "refused the API key"),
        (403, {"error": {"message": f"Not for {KEY}"}}, "does not allow this: Not for …"),
        (404, {"error": {"message": "The model `small` does not exist"}}, "Check EMBEDDING_MODEL"),
        (404, "404 page not found", "no embeddings API here"),
        (400, {"error": {"message": "dimensions: no"}}, "rejected the request: dimensions: no"),
        (429, {"error": {"message": "Slow down"}}, "Too many requests"),
        (429, {"error": {"code": "insufficient_quota"}}, "no credit or quota left"),
        (501, {"error": {"message": "Start it with --embeddings"}}, "Start it with --embeddings"),
        (200, {"error": {"message": "No provider", "code": 502}}, "No provider"),
        (302, "", "redirects"),
    ],
)
def test_refusals(
    tables: tuple[Endpoint, OpenAIEmbedder], status: int, body: object, what: str
) -> None:
    endpoint, embedder = tables
    endpoint.embed(body, status=status)
    with pytest.raises(EmbedderUnavailable) as failure:
        embedder.embed_query("tea")
    assert said(failure).startswith("No vectors from small: ")
    assert what in said(failure)
    assert said(failure).endswith(WORDS_ALONE)
    assert KEY not in said(failure)


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    embedder = OpenAIEmbedder("small", base_url=address, api_key=None, timeout=5, max_retries=2)
    with pytest.raises(EmbedderUnavailable, match="Nothing listens at 127"):
        embedder.embed_query("tea")
    embedder.close()


@pytest.mark.parametrize(
    ("base_url", "api_key", "what"),
    [
        (None, None, "No model is set up"),
        ("ftp://somewhere/v1", None, "must begin with http"),
        ("http://127.0.0.1:9/v1", "two words", "characters in it that no key has"),
    ],
)
def test_what_is_wrong_before_anything_is_sent(
    base_url: str | None, api_key: str | None, what: str
) -> None:
    embedder = OpenAIEmbedder("small", base_url=base_url, api_key=api_key, timeout=5, max_retries=0)
    with pytest.raises(EmbedderUnavailable) as failure:
        embedder.dimension()
    assert what in said(failure)
    assert WORDS_ALONE in said(failure)
    assert "two words" not in said(failure)


# Time


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 429, "body": {"error": {"message": "Slow down"}}},
        {"status": 503, "body": "busy"},
        {"end": "break"},
    ],
    ids=["rate limit", "server", "connection"],
)
def test_what_may_pass_is_tried_again(endpoint: Endpoint, failure: dict[str, Any]) -> None:
    embedder = made(endpoint, max_retries=1)
    if "status" in failure:
        failure = {**failure, "headers": {"Retry-After": "0"}}
    endpoint.embed(**failure)
    embedder.embed_query("tea")
    assert len(endpoint.embedded) == 2
    embedder.close()


def test_what_asks_for_a_long_wait_is_not_tried_again(endpoint: Endpoint) -> None:
    embedder = made(endpoint, max_retries=3)
    endpoint.embed({}, status=429, headers={"Retry-After": "60"})
    with pytest.raises(EmbedderUnavailable, match="Try again in 60 seconds"):
        embedder.embed_query("tea")
    assert len(endpoint.embedded) == 1
    embedder.close()


def test_a_silent_endpoint_is_left(endpoint: Endpoint) -> None:
    embedder = made(endpoint, timeout=0.3)
    endpoint.embed(end="stall")
    with pytest.raises(EmbedderUnavailable, match=r"within 0\.3 seconds"):
        embedder.embed_query("tea")
    embedder.close()


def test_close_ends_a_request_under_way(endpoint: Endpoint) -> None:
    embedder = made(endpoint, timeout=60)
    endpoint.embed(end="stall")
    failures: list[str] = []

    def ask() -> None:
        with pytest.raises(EmbedderUnavailable) as failure:
            embedder.embed_query("tea")
        failures.append(said(failure))

    thread = threading.Thread(target=ask)
    thread.start()
    while not endpoint.embedded:
        thread.join(0.01)
    embedder.close()
    thread.join(5)

    assert not thread.is_alive()
    assert "was closed" in failures[0]
    with pytest.raises(EmbedderUnavailable, match="was closed"):
        embedder.embed_query("tea")


def test_threads_share_one(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    found: dict[str, list[float]] = {}

    def ask(text: str) -> None:
        found[text] = list(embedder.embed_query(text))

    threads = [threading.Thread(target=ask, args=(text,)) for text in ("tea", "milk", "rye")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {text: pytest.approx(unit(embedding(text))) for text in found}
    assert len(found) == 3


def test_imports_nothing_heavy() -> None:
    program = (
        "import sys, assistant.providers.openai_embedder\n"
        "print(sorted({'openai', 'httpx2', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
