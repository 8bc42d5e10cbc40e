"""`assistant forget …`: erasing outside a conversation, by hand or in a script."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from assistant.commands.erasing import SESSION_FORMS, erasing, resume, where_text, words_left
from assistant.commands.forget import FORMS
from assistant.commands.outputs import Choose, Confirm, Output, Table, Text, Work
from assistant.errors import UsageError
from assistant.terminal.choice import chosen_places
from assistant.terminal.command_app import command_app
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.line_editor import is_yes
from assistant.terminal.render import Screen


class Answers(msgspec.Struct, frozen=True):
    """What flags have answered already."""

    yes: bool = False
    with_events: bool = False
    with_exports: bool = False
    with_copies: bool = False

    def to(self, question: Confirm) -> bool | None:
        """The answer to a question; None when the user is to be asked."""
        flags = {
            "entries": self.with_events,
            "exports": self.with_exports,
            "copies": self.with_copies,
        }
        if flags.get(question.aside):
            return True
        return (not question.aside) if self.yes else None


def erase(what: Sequence[str], session: str | None, answers: Answers) -> int:
    """Erase what the words name; the receipt goes to stdout."""
    form = what[0].lower() if what else ""
    if form == "verify":
        return verify(" ".join(what[1:]))
    if form == "resume" and len(what) == 1:
        return go_on()
    if session is None and (form in SESSION_FORMS or (form[:1].isdigit() and "." not in form)):
        raise UsageError("Of which session? --session names it. Nothing was erased.")
    if form and form not in FORMS and form not in SESSION_FORMS and not form[:1].isdigit():
        raise UsageError(f"“{form}” is nothing that can be forgotten: {', '.join(FORMS)}.")
    with command_app() as (app, screen):
        named = app.store.find(session).id if session is not None else None
        context = app.context(app.store.open(named) if named else app.store.create())
        try:
            return _shown(_carried_out(erasing(context, " ".join(what)), screen, answers), screen)
        finally:
            context.session.close()


def go_on() -> int:
    """Finish an erase that was broken off."""
    with command_app(finish_erasing=False) as (app, screen):
        context = app.context(app.store.create())
        return _shown(_carried_out(resume(context, ""), screen, Answers(yes=True)), screen)


def verify(words: str) -> int:
    """Look for words in every byte that is kept; the exit code says whether they are there."""
    with command_app() as (app, screen):
        left = words_left(app.context(app.store.create()), words)
        screen.show(Text(where_text(words, left)))
        return ExitCode.ERASE if left else ExitCode.OK


def _shown(last: Text | Table, screen: Screen) -> int:
    screen.show(last)
    return ExitCode.ERASE if isinstance(last, Table) and last.incomplete else ExitCode.OK


def _carried_out(output: Output, screen: Screen, answers: Answers) -> Text | Table:
    """What comes of a command once its questions are answered."""
    while True:
        match output:
            case Text() | Table():
                return output
            case Work():
                with screen.working(output.text) as say:
                    output = output.run(say)
            case Confirm():
                if output.shown is not None:
                    screen.say(output.shown.text)
                if _agrees(output, screen, answers):
                    output = output.then()
                else:
                    output = output.otherwise() if output.otherwise else Text("Nothing was erased.")
            case Choose():
                output = output.then(_chosen(output, screen, answers))
            case _:
                raise TypeError(f"/forget does not give a {type(output).__name__}")


def _agrees(question: Confirm, screen: Screen, answers: Answers) -> bool:
    answer = answers.to(question)
    if answer is not None:
        return answer
    if question.word:
        return _asked(f"{question.question} Type “{question.word}”: ", screen) == question.word
    return is_yes(_asked(f"{question.question} [y/N] ", screen))


def _chosen(output: Choose, screen: Screen, answers: Answers) -> Sequence[int]:
    screen.say("\n".join([output.title, *output.lines()]))
    if answers.yes:
        return output.marked
    return chosen_places(_asked(output.question, screen), len(output.items), output.marked)


def _asked(question: str, screen: Screen) -> str:
    if not sys.stdin.isatty():
        raise UsageError("Erasing without a terminal needs --yes. Nothing was erased.")
    screen.ask(question)
    return sys.stdin.readline().strip()
