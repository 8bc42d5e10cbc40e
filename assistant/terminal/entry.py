"""The `assistant` command: answers what needs no machinery at once, and hands on the rest.

Nothing is imported here before it is known what is asked for: `--help` and the prompt are what
people wait for.
"""

import gc
import os
import sys


def main() -> None:
    # Whatever is made, by us or a library, is for its owner alone.
    os.umask(0o077)
    try:
        code = _run(sys.argv[1:])
        _end_at_once_if_busy(code)
        sys.exit(code)
    except KeyboardInterrupt:
        # While modules are still being imported; later ones are told apart where they happen.
        sys.exit(130)


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from assistant import __version__

        print(f"assistant {__version__}")
        return 0
    if arguments in (["--help"], ["-h"]):
        from pathlib import Path

        # Made from the command line's own declaration; a test holds the two equal.
        print((Path(__file__).parent / "help.txt").read_text("utf-8"), end="")
        return 0
    _take_any_text()
    if arguments in ([], ["--continue"], ["-c"]):
        # Nothing made until the prompt is drawn is ever thrown away: looking for it only costs.
        gc.disable()
        from assistant.terminal.boundary import guarded
        from assistant.terminal.start import Options, chat

        return guarded(lambda: chat(Options(continue_last=bool(arguments))))
    from assistant.terminal.cli import run

    return run(arguments)


def _end_at_once_if_busy(code: int) -> None:
    """Don't wait for a job that did not end in time; nothing it does can be lost.

    Taken down by Python beside a library that still works, it would print tracebacks.
    """
    threading = sys.modules.get("threading")
    if threading and any(one.name == "worker" for one in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _take_any_text() -> None:
    """Whatever bytes are piped in, and whatever the terminal can't show, is no reason to fail."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - stays open to the end
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "replace"),
        (sys.stderr, "replace"),
    ):
        # None when stdin is closed; without `reconfigure` when a host put its own there.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=errors)


if __name__ == "__main__":
    main()
