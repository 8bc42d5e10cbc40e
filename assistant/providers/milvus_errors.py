"""pymilvus brought in without a sound, and whatever it raises as sentences for the user."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

from assistant.errors import IndexBroken, IndexUnavailable, MemoryIndexError

NOTHING_LOST = "Nothing is lost: everything that was said is in the session files."

_LOGGERS = ("pymilvus", "pymilvus.milvus_client", "pymilvus.bulk_writer", "milvus_lite", "grpc")
_importing = threading.Lock()


def import_pymilvus() -> Any:
    """The module pymilvus, silenced. The first import takes 1.6 s of CPU: leave it to a worker.

    Raises IndexUnavailable when it isn't installed, or can't be imported.
    """
    # Read when gRPC starts; it would tell file descriptor 2 of every fork and lost connection.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        with _importing, _without_settings_of_its_own():
            import pymilvus
    except Exception as error:
        raise _not_importable(error) from error
    _silence()
    return pymilvus


@contextlib.contextmanager
def _without_settings_of_its_own() -> Iterator[None]:
    """Keep it from what it would read while it is imported.

    It loads a `.env` it finds above its own folder into the environment, and fails on a MILVUS_URI
    that isn't of the form it expects.
    """
    if "pymilvus" in sys.modules:
        yield
        return
    names = [name for name in os.environ if name.startswith("MILVUS_")]
    kept = {name: os.environ.pop(name) for name in names}
    asked_for = os.environ.get("PYTHON_DOTENV_DISABLED")
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"
    try:
        yield
    finally:
        os.environ.update(kept)
        if asked_for is None:
            del os.environ["PYTHON_DOTENV_DISABLED"]
        else:
            os.environ["PYTHON_DOTENV_DISABLED"] = asked_for


def _silence() -> None:
    """Take the handlers off its loggers: they print a traceback of every error it raises."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False


@contextlib.contextmanager
def translated(place: str, *, on_disk: bool) -> Iterator[None]:
    """Turn every error of the library into a `MemoryIndexError`.

    `on_disk`: the index is a folder of ours, so that what isn't the system's fault is damage.
    """
    try:
        yield
    except MemoryIndexError:
        raise
    except Exception as error:
        # Its decorators wrap most things in MilvusException, let gRPC's own through raw, and now
        # and then fail themselves; none of that may end a conversation.
        raise as_index_error(error, place, on_disk=on_disk) from error


def as_index_error(error: Exception, place: str, *, on_disk: bool) -> MemoryIndexError:
    status = grpc_status(error)
    if status in _BY_STATUS:
        return IndexUnavailable(_BY_STATUS[status].format(place=place, kept=NOTHING_LOST))
    number = _errno(error) if on_disk else None
    if number in _BY_ERRNO:
        return IndexUnavailable(_BY_ERRNO[number].format(place=place, kept=NOTHING_LOST))
    if isinstance(error, ImportError):
        return _not_importable(error)
    if on_disk and _is_damage(error):
        return IndexBroken(
            f"The memory index can't be used: {place} is damaged ({said_by(error)}). "
            f"{NOTHING_LOST} The index can be made anew from them."
        )
    remedy = "Try again" if on_disk else "Check MILVUS_URI, and the server's log"
    return IndexUnavailable(
        f"The memory index can't be used: {place} refused the request ({said_by(error)}). "
        f"{NOTHING_LOST} {remedy}."
    )


def _is_damage(error: Exception) -> bool:
    """Whether it comes from the files; what is below MilvusException is about arguments."""
    kind = type(error)
    from_server = kind.__name__ == "MilvusException" or kind.__module__.startswith("milvus_lite")
    return from_server or isinstance(error, OSError)


def _not_importable(error: Exception) -> IndexUnavailable:
    return IndexUnavailable(
        f"The memory index can't be used: a library it needs is missing or broken "
        f"({said_by(error)}). {NOTHING_LOST} Install pymilvus and milvus-lite again to have recall."
    )


_BY_STATUS = {
    "DEADLINE_EXCEEDED": "The memory index can't be used: {place} gave no answer in time. {kept} "
    "It is asked again later.",
    "UNAVAILABLE": "The memory index can't be used: {place} can't be reached. {kept} Check that it "
    "runs, and MILVUS_URI.",
    "UNAUTHENTICATED": "The memory index can't be used: {place} refused the token. {kept} Check "
    "MILVUS_TOKEN.",
    "PERMISSION_DENIED": "The memory index can't be used: {place} does not allow this with the "
    "token it was given. {kept} Check MILVUS_TOKEN and the rights of its user.",
    "UNIMPLEMENTED": "The memory index can't be used: what answers at {place} is no Milvus server, "
    "or one too old. {kept} Check MILVUS_URI.",
    "RESOURCE_EXHAUSTED": "The memory index can't be used: {place} has no more room for this. "
    "{kept} Check its memory, disk and quotas.",
}

_FULL = (
    "The memory index can't be written: the disk of {place} is full, or a limit is reached. {kept} "
    "Free some space, then it is brought up to date."
)
_CLOSED = (
    "The memory index can't be used: {place} can't be read or written by this user. {kept} Change "
    "the rights of the folder to have recall."
)
_BY_ERRNO: dict[int | None, str] = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EROFS: _CLOSED,
    errno.EMFILE: "The memory index can't be used: this process has too many files open. {kept} "
    "Start again to have recall.",
}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it. pymilvus raises errors from themselves, which makes a ring."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        cause = cause.__context__ if cause.__cause__ in seen else cause.__cause__


def grpc_status(error: Exception) -> str:
    """The name of gRPC's status code, wherever pymilvus put it; empty if there is none."""
    for cause in _causes(error):
        code: Any = getattr(cause, "code", None)
        code = code() if callable(code) else code
        # pymilvus' own codes are plain numbers; gRPC's are an enum.
        if type(code).__name__ == "StatusCode":
            return str(code.name)
    return ""


def _errno(error: Exception) -> int | None:
    """The system's error number; Milvus Lite passes it on in the text alone."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause.errno
        if match := re.search(r"\[errno (\d+)\]", str(cause), re.IGNORECASE):
            return int(match[1])
    return None


def said_by(error: BaseException) -> str:
    """What the error says itself, short enough to stand inside a sentence."""
    text = str(getattr(error, "message", "") or error) or type(error).__name__
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"
