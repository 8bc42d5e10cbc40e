"""`assistant setup`: choose a model once, try it, and write it down."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dotenv import dotenv_values, set_key, unset_key

from assistant.app import endpoint_models, try_model
from assistant.errors import AssistantError, ChatModelError, ConfigError, UsageError
from assistant.memory.files import make_folder
from assistant.settings import ENVIRONMENT, SHIPPED_CONFIG, find_home
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.line_editor import is_yes
from assistant.terminal.render import Screen, terminal_screen
from assistant.terminal.start import command

#: Programs that serve models on this machine, and the ports they usually listen at.
USUAL_PORTS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}
MODELS_SHOWN = 20
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MODEL_NAME")


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked, and with what; all None is the embedded model."""

    base_url: str | None = None
    api_key: str | None = None
    model: str | None = None


class Dialog(Protocol):
    """Asks the user. An empty answer takes what the question offers. EOFError: they leave."""

    def ask(self, question: str) -> str: ...

    def secret(self, question: str) -> str:
        """Like `ask`, without showing what is typed."""

    def say(self, text: str) -> None: ...


class TerminalDialog:
    """The dialog in a terminal."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def ask(self, question: str) -> str:
        self._screen.ask(f"{question} ")
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.strip()

    def secret(self, question: str) -> str:
        return getpass.getpass(f"{question} ").strip()

    def say(self, text: str) -> None:
        self._screen.say(text)


def run_setup() -> int:
    """Ask in this terminal; returns the exit code."""
    home = find_home(os.environ)
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"Setup asks questions and needs a terminal. Without one, write {home / '.env'} by "
            "hand; .env.example shows how."
        )
    dialog = TerminalDialog(terminal_screen())
    try:
        set_up(dialog, home, os.environ, USUAL_PORTS)
    except (EOFError, KeyboardInterrupt):
        dialog.say("\nNothing was changed.")
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def set_up(
    dialog: Dialog, home: Path, environment: Mapping[str, str], ports: Mapping[str, int]
) -> None:
    """The whole dialog: choose, try, write. Nothing is written before the last answer."""
    dialog.say("Which model should answer?")
    servers = find_servers(ports)
    choices = [
        "An endpoint with a key (OpenAI or any compatible service)",
        *(f"{name} on this machine, {url}" for name, url, _ in servers),
        "The embedded model: small, slow, needs nothing",
    ]
    number = _choose(dialog, choices)
    if number == 0:
        endpoint = _ask_endpoint(dialog)
    elif number <= len(servers):
        _, url, models = servers[number - 1]
        endpoint = Endpoint(url, None, _choose_model(dialog, models))
    else:
        endpoint = Endpoint()
    if endpoint != Endpoint() and not _tried(dialog, endpoint):
        dialog.say("Nothing was changed.")
        return
    if endpoint == Endpoint() and not (home / ".env").exists():
        dialog.say("Nothing needs to be written: with no key and no address it answers anyway.")
    else:
        write_settings(home, endpoint)
        dialog.say(f"Written to {home / '.env'}.")
    dialog.say(f"Start with: {command()}")
    _warn_of_environment(dialog, environment)


def find_servers(ports: Mapping[str, int]) -> Sequence[tuple[str, str, Sequence[str]]]:
    """The servers that listen on loopback: name, address, models."""
    found = []
    for name, port in ports.items():
        url = f"http://127.0.0.1:{port}/v1"
        try:
            found.append((name, url, endpoint_models(url, None)))
        except ChatModelError:
            continue
    return found


def _choose(dialog: Dialog, choices: Sequence[str]) -> int:
    for number, choice in enumerate(choices, 1):
        dialog.say(f"  {number}  {choice}")
    while True:
        answer = dialog.ask(f"Number (1-{len(choices)}):")
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(choices):
            return int(answer) - 1
        dialog.say("Please type one of the numbers.")


def _ask_endpoint(dialog: Dialog) -> Endpoint:
    while True:
        url = dialog.ask("Address (empty is OpenAI's, https://api.openai.com/v1):") or None
        key = dialog.secret("Key (not shown; empty if it needs none):") or None
        try:
            return Endpoint(url, key, _choose_model(dialog, endpoint_models(url, key)))
        except ChatModelError as error:
            dialog.say(str(error))
        if not is_yes(dialog.ask("Type address and key again? [y/N]")):
            return Endpoint(url, key, _choose_model(dialog, ()))


def _choose_model(dialog: Dialog, models: Sequence[str]) -> str:
    if len(models) == 1:
        return models[0]
    if models:
        shown = ", ".join(models[:MODELS_SHOWN])
        more = f" and {len(models) - MODELS_SHOWN} more" if len(models) > MODELS_SHOWN else ""
        dialog.say(f"It offers: {shown}{more}")
    while True:
        name = dialog.ask("Model:")
        if name:
            return name
        dialog.say("Please type the model's name.")


def _tried(dialog: Dialog, endpoint: Endpoint) -> bool:
    """Ask the model one thing; when it fails, the user may write it down all the same."""
    dialog.say("Trying it …")
    try:
        reply = try_model(endpoint.base_url, endpoint.api_key, endpoint.model or "")
    except AssistantError as error:
        dialog.say(f"It did not answer: {error}")
        return is_yes(dialog.ask("Write it down all the same? [y/N]"))
    dialog.say(f"It answers: {reply}")
    return True


def write_settings(home: Path, endpoint: Endpoint) -> None:
    """Write `.env` (0600), other lines kept, and the commented config if there is none."""
    path = home / ".env"
    values = dict(
        zip(VARIABLES, (endpoint.api_key, endpoint.base_url, endpoint.model), strict=True)
    )
    try:
        if not home.exists():
            make_folder(home)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        path.chmod(0o600)
        present = dotenv_values(path, interpolate=False)
        for name, value in values.items():
            if value is not None:
                set_key(path, name, value)
            elif name in present:
                unset_key(path, name)
        _copy_config(home)
    except OSError as error:
        raise ConfigError(
            f"{path} can't be written: {error.strerror}. Nothing else was changed."
        ) from error


def _copy_config(home: Path) -> None:
    target = home / "config" / "assistant.toml"
    shipped = SHIPPED_CONFIG / "assistant.toml"
    if not target.exists() and shipped.exists():
        make_folder(target.parent)
        shutil.copyfile(shipped, target)
        target.chmod(0o600)


def _warn_of_environment(dialog: Dialog, environment: Mapping[str, str]) -> None:
    for name in ENVIRONMENT:
        if environment.get(name):
            dialog.say(f"Note: {name} is set in your environment and stands above .env.")
