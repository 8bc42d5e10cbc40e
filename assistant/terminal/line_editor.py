"""Where lines come from: the line editor of a terminal, or lines piped in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from assistant.errors import UsageError
from assistant.memory.erasing.prompt_history import entry_digest
from assistant.terminal.text_editor import edited, keys_echoed
from assistant.terminal.typed_lines import typed_lines

PROMPT = "> "
#: Seconds the first keys have the processor to themselves, before what is loaded meanwhile.
FIRST_KEYS = 0.15
CONTINUATION = "… "


class LineEditor(Protocol):
    """Reads what the user types. EOFError: they leave. KeyboardInterrupt: Ctrl-C on nothing."""

    def read(self, started: Callable[[], None]) -> str:
        """One message or command; `started` is called once the prompt takes keys."""

    def confirm(self, question: str) -> bool:
        """A yes or no; anything but a plain yes is a no. Raises KeyboardInterrupt.

        What was typed before the question stood there is no answer to it.
        """

    def ask(self, question: str) -> str:
        """One line in answer to a question, kept in no history; "" when there is none.

        Raises KeyboardInterrupt.
        """

    def edit(self, text: str) -> str:
        """A text as the user leaves it in an editor of theirs. Raises UsageError without one."""

    def close(self) -> None:
        """Leave the terminal as it was found."""


class PromptLineEditor:
    """The terminal's line editor.

    Enter sends; Alt-Enter, or a backslash at the end of the line, starts a new line; a paste is
    one message however many lines it has; Ctrl-R searches; Ctrl-X Ctrl-E opens $EDITOR, which
    needs a file and so is off in a private conversation.
    """

    def __init__(
        self,
        *,
        history: Path | None,
        open_editor: bool,
        completer: Completer,
        toolbar: Callable[[], list[str]],
        keys: Input | None = None,
        screen: Output | None = None,
    ) -> None:
        self._toolbar = toolbar
        self._history = history
        self._typed = typed_lines(history)
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=CONTINUATION,
            history=self._typed,
            completer=completer,
            complete_while_typing=Condition(_typing_a_command),
            bottom_toolbar=self._toolbar_text,
            key_bindings=_key_bindings(),
            enable_open_in_editor=open_editor,
            style=Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack"}),
            input=keys,
            output=screen,
        )

    def read(self, started: Callable[[], None]) -> str:
        # The toolbar's room for the completion menu would push a short window's text away.
        short = self._session.app.output.get_size().rows < 12
        self._session.reserve_space_for_menu = 0 if short else 6
        app = self._session.app
        waiting = [started]

        def start() -> None:
            while waiting:
                waiting.pop()()

        def drawn(_: object) -> None:
            app.after_render.remove_handler(drawn)
            asyncio.get_running_loop().call_later(FIRST_KEYS, start)

        app.after_render.add_handler(drawn)
        try:
            line = self._session.prompt()
        except KeyboardInterrupt:
            start()
            raise
        start()
        # What is pasted while the reply comes is one message then, too.
        app.output.enable_bracketed_paste()
        app.output.flush()
        return line

    def forget(self, digests: Collection[str] | None) -> None:
        """Forget lines that were typed, by the digests of `entry_digest`; None forgets all."""
        self._typed.forget(lambda line: digests is None or entry_digest(line) in digests)

    def close(self) -> None:
        self._session.app.output.disable_bracketed_paste()
        self._session.app.output.flush()

    def confirm(self, question: str) -> bool:
        return is_yes(self.ask(f"{question} [y/N] "))

    def ask(self, question: str) -> str:
        _drop_typed(self._session.app.input)
        answers: PromptSession[str] = PromptSession(
            question, input=self._session.app.input, output=self._session.app.output
        )
        try:
            return answers.prompt()
        except EOFError:
            return ""

    def edit(self, text: str) -> str:
        if self._history is None:
            raise UsageError("Nothing is written to a file here. Nothing was changed.")
        output = self._session.app.output
        output.disable_bracketed_paste()
        output.flush()
        try:
            with keys_echoed(sys.stdin):
                return edited(text, self._history.parent)
        finally:
            output.enable_bracketed_paste()
            output.flush()

    def _toolbar_text(self) -> str:
        width = get_app().output.get_size().columns
        return fit_parts(self._toolbar(), width)


def _drop_typed(keys: Input) -> None:
    """Forget what was typed ahead, in the terminal's buffer and in the line editor's."""
    from prompt_toolkit.input.typeahead import clear_typeahead

    clear_typeahead(keys)
    try:
        import termios
    except ImportError:  # Windows
        return
    # What is no terminal has nothing typed ahead.
    with suppress(OSError, ValueError, NotImplementedError, termios.error):
        termios.tcflush(keys.fileno(), termios.TCIFLUSH)


class PipedLines:
    """Lines from a pipe or a file: each one is a message or a command."""

    def __init__(self, stream: TextIO, say: Callable[[str], None] = lambda text: None) -> None:
        """`say` is told the questions that are asked, and what is taken for the answer."""
        self._stream = stream
        self._say = say
        self._next: str | None = None

    def read(self, started: Callable[[], None]) -> str:
        started()
        line = self._line()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def confirm(self, question: str) -> bool:
        """The next line is the answer when it is a plain yes or no; else it is a no, and the line
        is read as what it is.
        """
        line = self._line()
        answer = line.strip().lower()
        if answer not in ("y", "yes", "n", "no", "是", "否", "好", "不"):
            self._next, answer = line, "no"
        self._say(f"{question} [y/N] {answer}")
        return is_yes(answer)

    def ask(self, question: str) -> str:
        answer = self._line().rstrip("\n")
        self._say(f"{question}{answer}")
        return answer

    def edit(self, text: str) -> str:
        raise UsageError("An editor needs a terminal. Nothing was changed.")

    def _line(self) -> str:
        line, self._next = self._next, None
        return self._stream.readline() if line is None else line

    def close(self) -> None:
        """A pipe is left as it is."""


@contextmanager
def keys_held(stream: TextIO, screen: TextIO) -> Iterator[None]:
    """Between prompts, keep keys for the next one instead of echoing them into a reply.

    Ctrl-C still interrupts. Where the two are not a terminal, with its line editor, nothing
    happens.
    """
    if not stream.isatty() or not screen.isatty():
        yield
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows, whose console does not echo between prompts
        yield
        return
    try:
        before = termios.tcgetattr(stream.fileno())
    except (OSError, ValueError, termios.error):
        yield
        return
    # Not the default TCSAFLUSH, which throws away what was typed already.
    tty.setcbreak(stream.fileno(), termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(stream.fileno(), termios.TCSANOW, before)


def is_yes(answer: str) -> bool:
    return answer.strip().lower() in ("y", "yes", "是", "好", "好的")


def fit_parts(parts: list[str], width: int) -> str:
    """As many of the parts, from the first on, as `width` columns take.

    A first part that takes more than half of them is cut, so that others are seen beside it.
    """
    if not parts:
        return ""
    line = _cut_to(parts[0], width if len(parts) == 1 else max(width // 2, 16))
    line = _cut_to(line, width)
    for part in parts[1:]:
        longer = f"{line} · {part}"
        if get_cwidth(longer) > width:
            break
        line = longer
    return line


def _cut_to(text: str, width: int) -> str:
    if get_cwidth(text) <= width:
        return text
    while text and get_cwidth(text) >= width:
        text = text[:-1]
    return f"{text}…" if width > 0 else ""


def _typing_a_command() -> bool:
    return get_app().current_buffer.text.startswith("/")


def _key_bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=Condition(lambda: get_app().current_buffer.name == "DEFAULT_BUFFER"))
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.char_before_cursor == "\\" and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    return keys
