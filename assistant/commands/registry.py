"""Slash commands: each is declared once, at its handler, and everything else reads that."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output
from assistant.errors import UnknownCommand, UsageError

Handler: TypeAlias = Callable[[CommandContext, str], Output]
Complete: TypeAlias = Callable[[CommandContext, str], Iterable[tuple[str, str]]]


class Command(msgspec.Struct, frozen=True):
    """A slash command. `complete` gives (argument, what it is) for what was typed after it."""

    name: str
    usage: str
    handler: Handler
    group: str
    aliases: tuple[str, ...] = ()
    complete: Complete | None = None

    @property
    def signature(self) -> str:
        return f"/{self.name} {self.usage}".rstrip()

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return self.explanation.partition("\n")[0]

    @property
    def explanation(self) -> str:
        lines = (self.handler.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in lines)


@dataclass
class CommandGroup:
    """Commands that belong together, under one heading in /help."""

    heading: str
    commands: list[Command] = field(default_factory=list)

    def command(
        self,
        name: str,
        usage: str = "",
        *,
        aliases: Sequence[str] = (),
        complete: Complete | None = None,
    ) -> Callable[[Handler], Handler]:
        """Declare the decorated function as the handler of /name."""

        def declare(handler: Handler) -> Handler:
            self.commands.append(
                Command(name, usage, handler, self.heading, tuple(aliases), complete)
            )
            return handler

        return declare


class CommandRegistry:
    """All commands by name. A spelling declared twice is a ValueError at start."""

    def __init__(self, groups: Iterable[CommandGroup]) -> None:
        self.groups = tuple(groups)
        self._by_spelling: dict[str, Command] = {}
        for group in self.groups:
            for command in group.commands:
                for spelling in (command.name, *command.aliases):
                    if spelling in self._by_spelling:
                        raise ValueError(f"/{spelling} is declared twice")
                    self._by_spelling[spelling] = command

    @property
    def commands(self) -> list[Command]:
        return [command for group in self.groups for command in group.commands]

    def get(self, name: str) -> Command:
        """The command with this name or alias. Raises UnknownCommand, naming the nearest."""
        command = self._by_spelling.get(name)
        if command is None:
            import difflib  # here, so that start-up does not pay for a slip of the keyboard

            near = difflib.get_close_matches(name, self._by_spelling, n=1, cutoff=0.5)
            hint = f"Did you mean /{near[0]}? " if near else ""
            raise UnknownCommand(
                f"There is no command /{name}. {hint}/help lists them; nothing was sent."
            )
        return command

    def is_command(self, line: str) -> bool:
        """Whether a line calls a command, be it a known one or a slip of the keyboard.

        `/usr/bin`, `/* note */`, `//` and what names a folder or file that is there are text.
        """
        line = line.strip()
        match = _COMMAND_LIKE.match(line)
        if match is None or "\n" in line:
            return False
        return match[1].lower() in self._by_spelling or not os.path.exists(f"/{match[1]}")

    def run(self, line: str, context: CommandContext) -> Output:
        """Run the command a line names. A wrong call's sentence gets the usage added."""
        name, *rest = line.strip().removeprefix("/").split(maxsplit=1)
        command = self.get(name.lower())
        if rest and not command.usage:
            raise UsageError(f"/{command.name} takes nothing after it. Nothing was done.")
        try:
            return command.handler(context, "".join(rest))
        except UsageError as error:
            raise UsageError(f"{error} Usage: {command.signature}") from error

    def to_markdown(self) -> str:
        """The commands as the README's table."""
        rows = [
            f"| `{command.signature.replace('|', chr(92) + '|')}` | {command.summary} |"
            for command in self.commands
        ]
        return "\n".join(["| Command | Does |", "| --- | --- |", *rows])


_COMMAND_LIKE = re.compile(r"/([A-Za-z][\w-]*|\?)(?:\s|$)")
