"""Milvus Lite inside this process: its folder, its lock, and the socket it is reached through."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from assistant.errors import IndexBroken, IndexLocked
from assistant.providers.milvus_errors import NOTHING_LOST, import_pymilvus

#: Seconds a request that is still running may take to end when the server is stopped.
STOPPING = 5.0

#: Sockets of some systems take paths of 103 bytes at most.
_LONGEST_TEMPORARY = 70


class EmbeddedServer:
    """Milvus Lite on a folder, for this process alone. It holds the folder's lock until closed.

    pymilvus' own way to a folder opens a TCP port without a password, on which every user of the
    machine can read every memory. Here the same two parts, `MilvusLite` and `MilvusServicer`, are
    joined through a socket in a folder only its owner can enter. One thread serves, so requests
    never overlap: rows written while a flush runs can get lost in Milvus Lite.
    """

    def __init__(self, path: Path, database: Any, server: Any, pool: ThreadPoolExecutor) -> None:
        self._path = path
        self._database = database
        self._server = server
        self._pool = pool
        self._identity = _identity(path)
        self._sockets = _private_folder()
        self.address = f"unix:{self._sockets / 'index'}"

    @property
    def in_place(self) -> bool:
        """Whether the folder is still the one that was opened; nobody else notices if it isn't."""
        return _identity(self._path) == self._identity

    def start(self) -> None:
        self._server.add_insecure_port(self.address)
        self._server.start()

    def shut_door(self) -> None:
        """Take the socket's name away: nobody can connect after this, and no process that is killed
        leaves a folder behind. Who is connected stays so."""
        shutil.rmtree(self._sockets, ignore_errors=True)

    def close(self) -> None:
        """Write what is only in memory, and free the lock."""
        self._server.stop(STOPPING).wait(STOPPING)
        self._pool.shutdown()
        # Into a folder that has been deleted it would write just enough to look damaged.
        if self.in_place:
            self._database.close()
        self.shut_door()


def start_embedded(path: Path) -> EmbeddedServer:
    """Open the folder, or make it (0700). The caller closes it.

    Raises IndexLocked and IndexBroken, and whatever Milvus Lite and the system raise.
    """
    _make_folder(path)
    # Before the import: it takes seconds, only to find the folder in use.
    with reserved(path):
        pass
    import_pymilvus()
    import grpc
    from milvus_lite import DataDirLockedError, MilvusLite
    from milvus_lite.adapter.grpc import MilvusServicer
    from pymilvus.grpc_gen import milvus_pb2_grpc

    try:
        database = MilvusLite(str(path))
    except DataDirLockedError as error:
        raise _locked(path) from error
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="milvus-lite")
    server = grpc.server(pool, options=_MESSAGES)
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(database), server)
    embedded = EmbeddedServer(path, database, server, pool)
    try:
        embedded.start()
    except BaseException:
        embedded.close()
        raise
    return embedded


#: Bytes of a message without limit: rows of one batch may be tens of megabytes.
_MESSAGES = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def set_aside(path: Path, stamp: str) -> Path:
    """Rename what can't be used to `<name>.corrupt-<stamp>`, and say where it is now.

    Raises IndexLocked when another process has it open, and OSError.
    """
    aside = path.with_name(f"{path.name}.corrupt-{stamp}")
    with reserved(path) if path.is_dir() else contextlib.nullcontext():
        # One is enough to find out what went wrong: they hold what was said.
        for older in path.parent.glob(f"{path.name}.corrupt-*"):
            shutil.rmtree(older, ignore_errors=True)
        path.rename(aside)
    return aside


def is_locked(path: Path) -> bool:
    """Whether a process has the folder open; it may be this one. Makes nothing."""
    if not (path / "LOCK").exists():
        return False
    try:
        with reserved(path):
            return False
    except IndexLocked:
        return True


def _make_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise IndexBroken(
            f"The memory index can't be used: {path} is a file, and a folder is needed there. "
            f"{NOTHING_LOST} The index can be made anew from them once it is set aside."
        )
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        # Where it is somebody else's, they decide who may look in.
        with contextlib.suppress(PermissionError):
            path.chmod(0o700)


@contextlib.contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Hold the lock of the folder. Raises IndexLocked if it is held already, by whomever."""
    try:
        import fcntl
    except ImportError:
        # Not on this system: Milvus Lite asks itself, only later.
        yield
        return
    lock = os.open(path / "LOCK", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _locked(path) from error
        yield
    finally:
        os.close(lock)


def _locked(path: Path) -> IndexLocked:
    return IndexLocked(
        f"Another running assistant has the memory index open ({path}), so recall looks for words "
        f"alone here. {NOTHING_LOST} What is said here is indexed once the other one is closed."
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _private_folder() -> Path:
    """A new folder (0700) with a path short enough for a socket."""
    usual = tempfile.gettempdir()
    short = usual if len(os.fsencode(usual)) <= _LONGEST_TEMPORARY else "/tmp"
    return Path(tempfile.mkdtemp(prefix="assistant-", dir=short))
