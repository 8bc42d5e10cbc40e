"""/help, /model, /config, /exit."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Quit, Table, Text
from assistant.commands.registry import CommandGroup
from assistant.settings import SECRETS, setting_names, value_of

group = CommandGroup("General")


def _command_names(context: CommandContext, typed: str) -> Iterable[tuple[str, str]]:
    return [(command.name, command.summary) for command in context.registry.commands]


@group.command("help", "[command]", aliases=("?",), complete=_command_names)
def show_help(context: CommandContext, argument: str) -> Output:
    """List the commands, or explain one."""
    if argument:
        command = context.registry.get(argument.removeprefix("/").lower())
        aliases = "".join(f", /{alias}" for alias in command.aliases)
        return Text(f"{command.signature}{aliases}\n{command.explanation}")
    rows = [(command.signature, command.summary) for command in context.registry.commands]
    return Table(
        ("Command", "Does"),
        rows,
        note="Enter sends, Alt-Enter or a \\ at the end starts a new line, Ctrl-R searches what "
        "you typed before, Ctrl-C stops a reply, Ctrl-D leaves.",
    )


@group.command("model")
def show_model(context: CommandContext, argument: str) -> Output:
    """Say which model answers, where, and how much it takes."""
    model, profile = context.pipeline.model, context.pipeline.profile()
    measured = "measured" if profile.ratio_measured else "assumed"
    counter = context.pipeline.counter
    return Text(
        f"Model: {model.name}\n"
        f"Address: {model.address}\n"
        f"Window: {profile.window:,} tokens (from: {profile.window_source})\n"
        f"Counting: {counter.encoding}; {profile.ratio:.2f} of the model's tokens for one of "
        f"ours ({measured}){f'. Estimated: {counter.problem}' if counter.problem else ''}\n"
        "To change it: `assistant setup`, MODEL_NAME in .env, or --model."
    )


@group.command("config")
def show_config(context: CommandContext, argument: str) -> Output:
    """Show each setting's value and where it came from."""
    settings = context.settings
    rows = [
        (name, _shown(name, value_of(settings.values, name)), settings.source(name))
        for name in setting_names()
    ]
    if not settings.values.uses_endpoint:
        rows[0] = ("model.name", context.pipeline.model.name, "embedded: no key, no address")
    return Table(
        ("Setting", "Value", "From"),
        rows,
        title=f"Home: {settings.home}",
        note="Behaviour is set in config/assistant.toml, addresses and keys in .env; flags and "
        "the environment stand above both.",
    )


def _shown(name: str, value: object) -> str:
    if value is None:
        return "(not set)"
    if name == "model.base_url":
        # A password may stand in it.
        try:
            parts = urlsplit(str(value))
        except ValueError:
            return "(set, but no web address)"
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if name in SECRETS:
        return "(set, not shown)"
    return str(value)


@group.command("exit", aliases=("quit", "q"))
def leave(context: CommandContext, argument: str) -> Output:
    """Leave; the session can be resumed at any time."""
    return Quit()
