"""Commands are declared once; dispatch, completion and help read that."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from assistant.app import build_app
from assistant.commands import all_commands
from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Text
from assistant.commands.registry import (
    CommandGroup,
    CommandRegistry,
)
from assistant.errors import UnknownCommand, UsageError
from assistant.settings import load_settings
from assistant.terminal.completion import SlashCompleter
from tests.fakes import FakeClock, FakeIds


@pytest.fixture
def context(home: object) -> CommandContext:
    from pathlib import Path

    address = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    settings = load_settings(Path(str(home)), address, {"memory.index": False})
    app = build_app(settings, environment={}, clock=FakeClock(), new_id=FakeIds())
    return app.context(app.store.create())


def group() -> CommandGroup:
    group = CommandGroup("Test")

    @group.command("greet", "<name>", aliases=("hi",))
    def greet(context: CommandContext, argument: str) -> Output:
        """Greet somebody.

        More about greeting.
        """
        if not argument:
            raise UsageError("Whom?")
        return Text(f"Hello {argument}")

    return group


def test_a_command_is_found_by_name_and_alias(context: CommandContext) -> None:
    registry = CommandRegistry([group()])
    assert registry.run("/greet  Ann ", context) == Text("Hello Ann")
    assert registry.run("/HI 李四", context) == Text("Hello 李四")


def test_a_wrong_call_says_how_it_is_meant(context: CommandContext) -> None:
    with pytest.raises(UsageError, match=r"Whom\? Usage: /greet <name>"):
        CommandRegistry([group()]).run("/greet", context)


def test_an_unknown_command_names_the_nearest(context: CommandContext) -> None:
    with pytest.raises(UnknownCommand, match="Did you mean /greet"):
        CommandRegistry([group()]).run("/gret x", context)
    with pytest.raises(UnknownCommand, match=r"no command /xyz\. /help lists them"):
        CommandRegistry([group()]).run("/xyz", context)


def test_a_spelling_declared_twice_fails_at_start() -> None:
    with pytest.raises(ValueError, match="/greet is declared twice"):
        CommandRegistry([group(), group()])


def test_a_command_explains_itself() -> None:
    (command,) = group().commands
    assert command.signature == "/greet <name>"
    assert command.summary == "Greet somebody."
    assert command.explanation == "Greet somebody.\n\nMore about greeting."


@pytest.mark.parametrize("command", all_commands().commands, ids=lambda command: command.name)
def test_every_command_says_what_it_does(command: object) -> None:
    summary = getattr(command, "summary", "")
    assert summary.endswith(".")
    assert len(summary) <= 72


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/help", True),
        ("  /help me", True),
        ("/help\tme", True),
        ("/?", True),
        ("/unknown thing", True),
        ("/history5", True),
        ("/usr/bin/env", False),
        ("/etc/hosts is what?", False),
        ("/etc is full", False),
        ("/tmp", False),
        ("/ divided by", False),
        ("// comment", False),
        ("/* c */", False),
        ("/help\nmore", False),
        ("/五", False),
        ("hello /help", False),
        ("1/2", False),
    ],
)
def test_what_is_a_command_and_what_is_text(line: str, command: bool) -> None:
    assert all_commands().is_command(line) is command


def test_a_tab_parts_name_and_argument_too(context: CommandContext) -> None:
    assert CommandRegistry([group()]).run("/greet\tAnn", context) == Text("Hello Ann")


def completions(context: CommandContext, typed: str) -> list[str]:
    completer = SlashCompleter(lambda: context)
    found = completer.get_completions(Document(typed), CompleteEvent())
    return [completion.text for completion in found]


def test_names_and_arguments_are_completed(context: CommandContext) -> None:
    assert completions(context, "/he") == ["help"]
    assert "session" in completions(context, "/")
    assert completions(context, "/help hist") == ["history"]
    assert completions(context, "/session de") == ["delete"]
    assert completions(context, "/history a") == ["all"]
    assert completions(context, "/nonsense x") == []
    assert completions(context, "/model x") == []
    assert completions(context, "hello /he") == []
    assert completions(context, "/he\n") == []
    context.session.ask("hello")
    context.session.rename("Kyoto")
    assert completions(context, "/session switch s") == ["switch s1"]
