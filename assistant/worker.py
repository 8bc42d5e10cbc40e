"""One thread and its queue: what a turn need not wait for."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

import msgspec

log = logging.getLogger(__name__)

Job = Callable[[], None]


class _Named(msgspec.Struct, frozen=True):
    name: str
    job: Job


class Worker:
    """Runs jobs in the order they come, one at a time, on a thread of its own.

    A job that fails is logged with its traceback and ends no other. The thread is a daemon: the
    process never waits for it longer than `close` was told to.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Named | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, name: str, job: Job) -> None:
        """Queue a job; `name` is what the log calls it. After `close` it is dropped."""
        if self._closed:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
            self._thread.start()
        self._jobs.put(_Named(name, job))

    def drain(self, timeout: float) -> bool:
        """Wait until what is queued now is done; False when `timeout` seconds were not enough."""
        done = threading.Event()
        self.submit("drain", done.set)
        return done.wait(timeout)

    def close(self, timeout: float) -> None:
        """Take no more jobs, and wait up to `timeout` seconds for those that are queued."""
        if self._thread is not None and not self._closed:
            self._jobs.put(None)
            self._thread.join(timeout)
        self._closed = True

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            try:
                item.job()
            except Exception:
                log.exception("The job %r failed", item.name)
