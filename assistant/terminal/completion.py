"""Completion of slash commands and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from assistant.commands.context import CommandContext
from assistant.errors import UnknownCommand


class SlashCompleter(Completer):
    """Names after a `/` at the start, then what the command itself offers."""

    def __init__(self, context: Callable[[], CommandContext]) -> None:
        self._context = context

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        line = document.text_before_cursor
        if not line.startswith("/") or "\n" in line:
            return
        name, space, argument = line[1:].partition(" ")
        offers = self._arguments(name, argument) if space else self._names()
        typed = argument if space else name
        for text, meaning in offers:
            if text.lower().startswith(typed.lower()):
                yield Completion(text, start_position=-len(typed), display_meta=meaning)

    def _names(self) -> Iterable[tuple[str, str]]:
        for command in self._context().registry.commands:
            yield command.name, command.summary

    def _arguments(self, name: str, argument: str) -> Iterable[tuple[str, str]]:
        context = self._context()
        try:
            command = context.registry.get(name.lower())
        except UnknownCommand:
            return ()
        return command.complete(context, argument) if command.complete else ()
