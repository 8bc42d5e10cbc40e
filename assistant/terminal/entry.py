"""The `assistant` command: answers what needs no machinery at once, and hands on the rest.

Nothing is imported here before it is known what is asked for: `--help` and the prompt are what
people wait for.
"""

import gc
import sys


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from assistant import __version__

        print(f"assistant {__version__}")
    elif arguments in (["--help"], ["-h"]):
        from pathlib import Path

        # Made from the command line's own declaration; a test holds the two equal.
        print((Path(__file__).parent / "help.txt").read_text("utf-8"), end="")
    elif arguments in ([], ["--continue"], ["-c"]):
        # Nothing made until the prompt is drawn is ever thrown away: looking for it only costs.
        gc.disable()
        from assistant.terminal.start import Options, chat

        sys.exit(chat(Options(continue_last=bool(arguments))))
    else:
        from assistant.terminal.cli import run

        sys.exit(run(arguments))


if __name__ == "__main__":
    main()
