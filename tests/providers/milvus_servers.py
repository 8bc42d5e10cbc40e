"""Milvus servers for tests, each on a Unix socket: nothing of them is open to other users.

    with lite_server(tmp_path) as uri: ...      # Milvus Lite over gRPC, in a process of its own
    with real_server(tmp_path) as uri: ...      # Milvus 2.3.5, standalone, cut off from the network
    with refusing_server(tmp_path) as uri: ...  # takes no token
    with hanging_server(tmp_path) as uri: ...   # accepts, and never answers

As a program, run by a Python that has the package `milvus`, it starts the real server in its own
network namespace, and carries bytes between its port and a Unix socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REAL_VERSION = "2.3.5"
"""The newest that PyPI has for Linux; it finds by vectors, and knows nothing of words."""

STARTING = 180.0
"""Seconds a server may take to start; the real one unpacks 450 MB the first time."""


@contextlib.contextmanager
def lite_server(folder: Path) -> Iterator[str]:
    program = Path(sys.executable).with_name("milvus-lite")
    # It puts the port behind the path, and a colon between them.
    address = f"unix:{folder}/lite:1"
    command = [
        *(str(program), "server", "--data-dir", str(folder / "lite.db")),
        *("--host", f"unix:{folder}/lite", "--port", "1", "--max-workers", "1"),
    ]
    with _running(command, Path(f"{folder}/lite:1")):
        yield address


@contextlib.contextmanager
def real_server(folder: Path) -> Iterator[str]:
    python = _python_with_milvus()
    command = [
        *("unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"),
        *(str(python), __file__, str(folder / "real"), str(folder / "real.socket")),
    ]
    with _running(command, folder / "real.socket"):
        yield f"unix:{folder}/real.socket"


def can_run_real_server() -> bool:
    """A network namespace takes root, and PyPI has the server for Linux alone."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("unshare") is not None


@contextlib.contextmanager
def refusing_server(folder: Path) -> Iterator[str]:
    """A gRPC server that answers everything as a Milvus with a password does a wrong token."""
    import grpc

    class Refusal(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            def refuse(request: bytes, context: grpc.ServicerContext) -> bytes:
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure")
                return b""

            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(max_workers=1), handlers=(Refusal(),))
    server.add_insecure_port(f"unix:{folder}/refusing")
    server.start()
    try:
        yield f"unix:{folder}/refusing"
    finally:
        server.stop(None).wait()


@contextlib.contextmanager
def hanging_server(folder: Path) -> Iterator[str]:
    """The system accepts for it."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/hanging")
        listening.listen()
        yield f"unix:{folder}/hanging"


@contextlib.contextmanager
def _running(command: Sequence[str], ready: Path) -> Iterator[None]:
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        end = time.monotonic() + STARTING
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > end:
                assert process.stderr is not None
                process.kill()
                raise RuntimeError(f"{command[0]} did not start: {process.stderr.read()!r}")
            time.sleep(0.05)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _python_with_milvus() -> Path:
    """An environment with the server, installed once (58 MB) in the user's cache folder."""
    import platformdirs

    folder = platformdirs.user_cache_path("assistant-tests") / f"milvus-{REAL_VERSION}"
    done = folder / "done"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        # It asks pkg_resources for its version, which newer setuptools no longer have.
        wanted = [f"milvus=={REAL_VERSION}", "setuptools<80"]
        pip = [str(folder / "bin" / "pip"), "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*pip, *wanted], check=True)
        done.touch()
    return folder / "bin" / "python"


def _serve_real(folder: str, socket_path: str) -> None:
    from milvus import MilvusServer  # type: ignore[import-not-found]

    server = MilvusServer()
    server.set_base_dir(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        server.start()
        asyncio.run(_relay(socket_path, server.listen_port))
    finally:
        server.stop()


async def _relay(socket_path: str, port: int) -> None:
    async def connect(near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        far_in, far_out = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_carry(near_in, far_out), _carry(far_in, near_out))

    async with await asyncio.start_unix_server(connect, socket_path) as listening:
        await listening.serve_forever()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()


if __name__ == "__main__":
    _serve_real(*sys.argv[1:])
