"""What the process says when it ends."""

from __future__ import annotations

from enum import IntEnum

from assistant.errors import (
    AssistantError,
    ChatModelError,
    CommandError,
    ConfigError,
    EntryError,
    EraseError,
    MemoryIndexError,
    MessageTooBig,
    NotConfigured,
    SessionError,
)


class ExitCode(IntEnum):
    """Documented in the README; scripts rely on them."""

    OK = 0
    BUG = 1
    USAGE = 2
    CONFIG = 3
    SESSION = 4
    MODEL = 5
    TOO_BIG = 6
    INDEX = 7
    ENTRY = 8
    ERASE = 9
    PROBLEM = 10
    INTERRUPTED = 130


# The first that fits: the nearer class stands before its parent.
CODES: tuple[tuple[type[AssistantError], ExitCode], ...] = (
    (CommandError, ExitCode.USAGE),
    (ConfigError, ExitCode.CONFIG),
    (NotConfigured, ExitCode.CONFIG),
    (SessionError, ExitCode.SESSION),
    (ChatModelError, ExitCode.MODEL),
    (MessageTooBig, ExitCode.TOO_BIG),
    (MemoryIndexError, ExitCode.INDEX),
    (EntryError, ExitCode.ENTRY),
    (EraseError, ExitCode.ERASE),
)


def exit_code_for(error: AssistantError) -> ExitCode:
    return next((code for kind, code in CODES if isinstance(error, kind)), ExitCode.BUG)
