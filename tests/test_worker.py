"""The worker's one thread."""

from __future__ import annotations

import logging
import threading

import pytest

from assistant.worker import Worker


def test_jobs_run_in_order_on_another_thread() -> None:
    worker, seen = Worker(), []
    for number in range(5):
        worker.submit("job", lambda number=number: seen.append((number, threading.get_ident())))
    assert worker.drain(10)
    worker.close(10)
    assert [number for number, _ in seen] == [0, 1, 2, 3, 4]
    assert {thread for _, thread in seen} != {threading.get_ident()}


def test_a_failing_job_is_logged_and_ends_no_other(caplog: pytest.LogCaptureFixture) -> None:
    worker, seen = Worker(), []
    with caplog.at_level(logging.ERROR, logger="assistant.worker"):
        logging.getLogger("assistant").propagate = True
        worker.submit("breaks", lambda: 1 // 0)  # type: ignore[arg-type, return-value]
        worker.submit("works", lambda: seen.append(1))
        assert worker.drain(10)
        worker.close(10)
    assert seen == [1]
    assert "The job 'breaks' failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_drain_and_close_wait_no_longer_than_told() -> None:
    worker, release = Worker(), threading.Event()
    worker.submit("slow", lambda: release.wait(60) and None)
    assert not worker.drain(0.05)
    worker.close(0.05)
    worker.submit("late", lambda: pytest.fail("taken after close"))
    release.set()


def test_a_worker_that_had_nothing_to_do_closes_at_once() -> None:
    Worker().close(60)
