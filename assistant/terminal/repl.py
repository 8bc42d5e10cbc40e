"""The conversation loop: a line in, a command's output or a reply out."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence

from assistant.app import App
from assistant.commands.context import CommandContext
from assistant.commands.outputs import Ask, Choose, Confirm, Edit, Output, Quit, Say, Work
from assistant.errors import AssistantError, MessageTooBig
from assistant.messages import Content, Message, clean_text, one_line
from assistant.terminal.choice import chosen_places
from assistant.terminal.line_editor import LineEditor
from assistant.terminal.render import Screen
from assistant.turn import Changed, Event, Notice, Pipeline, TextArrived, Working, run_turn

log = logging.getLogger(__name__)

ONLY_CLAIMED = (
    "Nothing was saved or changed in this turn, whatever the reply says: no tool wrote anything. "
    "/do has it really done; /schedule add, /memo and /remember do it by hand."
)
LEAVING = "To leave: Ctrl-D, or /exit."
KEPT = f"{LEAVING} The conversation is kept."


class Repl:
    """Reads lines until the user leaves. Errors are shown here, and the conversation goes on."""

    def __init__(
        self, app: App, context: CommandContext, editor: LineEditor, screen: Screen
    ) -> None:
        self._app = app
        self._context = context
        self._editor = editor
        self._screen = screen
        self._unsaved: str | None = None

    def run(self) -> None:
        started: Callable[[], None] = self._started
        while True:
            try:
                line = clean_text(self._editor.read(started))
                if not self.handle(line):
                    return
            except EOFError:
                return
            except KeyboardInterrupt:
                self._screen.say(LEAVING if self._context.session.private else KEPT)
            started = _nothing

    def _started(self) -> None:
        """The prompt is there: what start-up put off begins now, beside the user's typing."""
        gc.enable()
        self._app.warm_up(self._context.session.id)

    def handle(self, line: str) -> bool:
        """One line; False when the user leaves."""
        if not line.strip():
            return True
        goes_on = True
        try:
            if self._context.registry.is_command(line):
                goes_on = self._show(self._context.registry.run(line, self._context))
            else:
                if line.lstrip().startswith("/"):
                    self._screen.notice("Sent as text: this is no command (/help lists them).")
                self._ask(line)
        except AssistantError as error:
            self._screen.error(str(error))
        except KeyboardInterrupt:
            self._settle()
            self._screen.say("Stopped.")
        except Exception as error:
            log.exception("A line could not be handled")
            self._settle()
            self._screen.error(
                f"Something went wrong that should not (a bug: {type(error).__name__}: {error}). "
                "/history shows what is kept; the log file in data/logs has the details."
            )
        self._context.opened(self._context.session)
        self._warn_when_unsaved()
        for sentence in self._app.asides.take():
            self._screen.notice(sentence)
        return goes_on

    def _settle(self) -> None:
        """Keep what came of a reply that was broken off."""
        try:
            self._context.session.settle()
        except AssistantError as error:
            self._screen.error(str(error))

    def _show(self, output: Output) -> bool:
        match output:
            case Quit():
                return False
            case Ask():
                self._ask(output.message, output.model)
            case Say():
                self._say(output)
            case Edit():
                return self._show(output.then(self._editor.edit(output.text)))
            case Work():
                with self._screen.working(output.text) as say:
                    done = output.run(say)
                return self._show(done)
            case Confirm():
                if output.shown is not None:
                    self._screen.show(output.shown)
                if self._agrees(output.question, output.word):
                    return self._show(output.then())
                if output.otherwise is not None:
                    return self._show(output.otherwise())
                self._screen.say("Nothing was changed.")
            case Choose():
                return self._show(output.then(self._chosen(output)))
            case _:
                self._screen.show(output)
        return True

    def _agrees(self, question: str, word: str = "") -> bool:
        """Whether the user says yes, with the word where one is wanted; Ctrl-C is a no."""
        try:
            if word:
                return self._editor.ask(f"{question} Type “{word}”: ").strip() == word
            return self._editor.confirm(question)
        except KeyboardInterrupt:
            return False

    def _chosen(self, output: Choose) -> Sequence[int]:
        """The places of what the user ticks; none for Ctrl-C. Raises UsageError for no choice."""
        self._screen.say("\n".join([output.title, *output.lines()]))
        try:
            answer = self._editor.ask(output.question)
        except KeyboardInterrupt:
            return ()
        return chosen_places(answer, len(output.items), output.marked)

    def _say(self, said: Say) -> None:
        """One turn of what a command says; it hears when no reply came."""
        self._screen.say(f"> {Message(role='user', content=said.content).text}")
        answered = False
        try:
            answered = self._ask(said.content, said.model)
        except AssistantError as error:
            self._screen.error(str(error))
        finally:
            if not answered and said.without_reply is not None:
                self._show(said.without_reply())

    def _ask(self, question: Content | Message, model: str | None = None) -> bool:
        """One turn, by another model if one is named, and whether a reply came of it."""
        with self._app.answered_by(model) as pipeline:
            return self._sent(question, pipeline)

    def _sent(self, question: Content | Message, pipeline: Pipeline) -> bool:
        """One turn; a message that is too big is cut only when the user agrees."""
        try:
            return self._turn(question, pipeline)
        except MessageTooBig as error:
            self._screen.error(str(error))
            unanswered = self._context.session.unanswered
            if unanswered is None or not self._agrees(
                "Send it now with its middle left out, marked where?"
            ):
                self._screen.say("Kept, not sent. /retry asks this question again.")
                return False
            return self._turn(unanswered, pipeline, cut_message=True)

    def _turn(
        self, question: Content | Message, pipeline: Pipeline, *, cut_message: bool = False
    ) -> bool:
        """One turn on the screen, and whether a reply came of it."""
        session = self._context.session
        progress = self._app.progress
        notices: list[str] = []

        def on_event(event: Event) -> None:
            # A sentence of ours would stand in the middle of the reply: it comes after it.
            match event:
                case TextArrived():
                    view.feed(event.text)
                case Notice():
                    notices.append(event.text)
                case Working():
                    view.working(event.text)
                case Changed():
                    self._context.changes.append(event.change)
                    view.aside(f"✓ {one_line(event.change.text)} · /undo-last takes it back")

        def confirm(question: str) -> bool:
            view.pause()
            return self._editor.confirm(question)

        try:
            with self._screen.reply() as view, progress.told_to(view.waiting):
                view.waiting(progress.text)
                turn = run_turn(
                    question,
                    session,
                    pipeline,
                    on_event,
                    confirm=confirm,
                    cut_message=cut_message,
                )
                view.finish(turn.reply.finish_reason if turn.reply else None)
        finally:
            for notice in notices:
                self._screen.notice(notice)
        self._context.last_turn = turn
        if turn.reply is None:
            self._screen.say("Stopped before its reply. /retry asks again.")
        if turn.only_claimed:
            self._screen.notice(ONLY_CLAIMED)
        return turn.reply is not None

    def _warn_when_unsaved(self) -> None:
        """Say once that a session is not being saved, and once that it is again."""
        session = self._context.session
        if session.unsaved and self._unsaved != session.id:
            self._screen.error(
                f"This conversation is NOT being saved: {session.saving_failure}. It goes on, and "
                "what was said since is written as soon as the disk takes it again."
            )
        if self._unsaved == session.id and not session.unsaved:
            self._screen.notice("Saving works again; everything said meanwhile is in the file.")
        self._unsaved = session.id if session.unsaved else None


def _nothing() -> None:
    """Only the first prompt has something to start."""
