"""Where errors of the command line end: as one sentence on stderr and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from assistant.errors import AssistantError
from assistant.terminal.exit_codes import ExitCode, exit_code_for
from assistant.terminal.render import one_shot_screen

log = logging.getLogger(__name__)


def _close_output() -> None:
    """Nothing more is written to stdout, at exit neither, where it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def guarded(action: Callable[[], int]) -> int:
    """Run `action` and give its exit code, or that of the error it ended with."""
    try:
        return action()
    except AssistantError as error:
        one_shot_screen().error(str(error))
        return exit_code_for(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough.
        _close_output()
        return ExitCode.OK
    except OSError as error:
        log.exception("The system refused something")
        _close_output()
        one_shot_screen().error(
            f"The system refused something: {error.strerror or error}. What was said before is "
            "saved."
        )
        return ExitCode.BUG
    except Exception as error:
        log.exception("The program failed")
        one_shot_screen().error(
            f"Something went wrong that should not (a bug: {type(error).__name__}: {error}). What "
            "was said before is saved; the log file in data/logs has the details."
        )
        return ExitCode.BUG
