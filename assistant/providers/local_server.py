"""The child process that holds the embedded model and serves it to its parent on loopback.

It is a process of its own because loading holds the interpreter's lock for seconds, and because a
processor too old for the library, or memory running out, would end the whole program.

Its parent runs it by its path: it needs the standard library and xllamacpp, nothing of ours. It
reads one line of JSON, an `Order`, answers with one line, an `Answer`, and ends when its input
does: so it dies with its parent, however that one died.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import IO, Any, NoReturn, TypedDict

#: MiB for the prompts set aside while another one is answered, at 28 KiB a token of the embedded
#: model: 18,000 tokens. Without it a title or a summary costs the chat its whole prefix.
CACHE_MIB = 512

#: Tokens of a prompt that are read at once. Between two batches the server sees that a request was
#: given up; smaller ones would read more slowly.
BATCH = 256


#: How long a thread that is done waits for the others before it sleeps, in turns of an empty loop.
#: GNU OpenMP's own default lets two threads fall to 0.3 tokens a second when another program wants
#: a core; with this it is 2.2, and as fast as before on a quiet machine.
SPIN_COUNT = "10000"


#: With llama.cpp's own 0.8 it made up a name it had been told in one of three conversations.
TEMPERATURE = 0.2


class Order(TypedDict):
    """What to serve: a GGUF file, under which name and key, with how many tokens and threads."""

    model: str
    alias: str
    api_key: str
    n_ctx: int
    n_threads: int


class Answer(TypedDict, total=False):
    """Where the model is served; or why it isn't, and whether the library itself is at fault."""

    address: str
    error: str
    library_failed: bool


def main() -> NoReturn:
    # Ctrl-C is meant for the parent, which decides what becomes of the reply.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _take_stdout()
    line = sys.stdin.buffer.readline()
    if line:
        _held = _answer(json.loads(line), answers)
        while sys.stdin.buffer.read(1):
            pass
    # At once: threads of the library may be in the middle of a reply nobody will read.
    os._exit(0)


def _take_stdout() -> IO[bytes]:
    """Our own way to the parent; whatever the library prints goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return answers


def _answer(order: Order, answers: IO[bytes]) -> object:
    """Start the server and tell the parent; the server, which lives as long as it is held."""
    server: Any = None
    answer: Answer
    try:
        server = _start(order)
        answer = {"address": server.listening_address}
    except Exception as error:  # Whatever it is, the parent is the one to tell.
        answer = {
            "error": str(error) or type(error).__name__,
            "library_failed": isinstance(error, ImportError),
        }
    answers.write(json.dumps(answer).encode() + b"\n")
    return server


def _start(order: Order) -> Any:
    # The library reads it when it is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["alias"]}
    params.api_keys = [order["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = order["n_ctx"]
    params.cpuparams.n_threads = order["n_threads"]
    params.cpuparams_batch.n_threads = order["n_threads"]
    params.n_gpu_layers = 0
    params.n_parallel = 1
    params.cache_ram_mib = CACHE_MIB
    # A request that is given up is noticed after each batch.
    params.n_batch = BATCH
    # What stood behind a part that changed would be kept as it was read with that part: 10 to 40 %
    # less to read again, but answers got worse, and what was erased would go on being felt.
    params.n_cache_reuse = 0
    # Weights as they are in the file: 1.4 instead of 2.0 GB and half the time to load, and on the
    # processors measured no slower.
    params.no_extra_bufts = True
    # A small model that is asked for facts does best with its likeliest words.
    params.sampling.temp = TEMPERATURE
    params.warmup = False
    params.verbosity = 0
    # Nothing but the API: no web page, no view of what is being asked.
    params.ui = False
    params.endpoint_slots = False
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
