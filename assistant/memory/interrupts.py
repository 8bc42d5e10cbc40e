"""Ctrl-C, and being told to end, put off while something must not be left half done."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

HELD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Put off these signals until the block is done: what it does is done wholly, and once.

    Elsewhere than on the main thread, which alone is interrupted, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = [signal.signal(number, lambda number, frame: came.append(number)) for number in HELD]
    try:
        yield
    finally:
        for number, handler in zip(HELD, before, strict=True):
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
