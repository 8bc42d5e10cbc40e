"""Where settings come from, and what a wrong one does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.errors import ConfigError
from assistant.settings import (
    CHECKOUT,
    EMBEDDED_DEFAULTS,
    ENVIRONMENT,
    Settings,
    find_home,
    load_settings,
    setting_names,
    value_of,
)

ENDPOINT = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def toml(home: Path, text: str) -> Path:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "assistant.toml").write_text(text, "utf-8")
    return home


def env(home: Path, text: str) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / ".env").write_text(text, "utf-8")
    return home


def test_without_any_file_the_defaults_are_in_force(home: Path) -> None:
    loaded = load_settings(home, ENDPOINT)
    assert loaded.problems == []
    assert (loaded.values.budget.history, loaded.values.budget.trigger) == (3_000, 2_500)
    assert loaded.values.budget.recent_messages == 20
    assert loaded.source("budget.history") == "default"


def test_each_source_stands_above_the_one_before(home: Path) -> None:
    toml(home, '[model]\nname = "from toml"\ntimeout = 5\nretries = 1\n')
    env(home, "MODEL_NAME='from .env'\nOPENAI_API_KEY=a$b${HOME}#c\n")
    loaded = load_settings(home, ENDPOINT | {"MODEL_NAME": "from environment"})
    assert (loaded.values.model.name, loaded.source("model.name")) == (
        "from environment", "environment",
    )  # fmt: skip
    flagged = load_settings(home, {}, {"model.name": "from flag", "model.timeout": None})
    assert (flagged.values.model.name, flagged.source("model.name")) == ("from flag", "flag")
    assert flagged.source("model.timeout") == "config/assistant.toml"
    plain = load_settings(home, {})
    assert (home / ".env").stat().st_mode & 0o077 == 0
    assert (plain.values.model.name, plain.source("model.name")) == ("from .env", ".env")
    assert plain.values.model.api_key == "a$b${HOME}#c"


def test_without_an_endpoint_the_embedded_model_has_budgets_of_its_own(home: Path) -> None:
    loaded = load_settings(home, {})
    assert not loaded.values.uses_endpoint
    for name, value in EMBEDDED_DEFAULTS.items():
        assert value_of(loaded.values, name) == value
        assert loaded.source(name) == "default of the embedded model"
    raised = load_settings(toml(home, "[budget]\nhistory = 9000\n"), {})
    assert raised.values.budget.history == 9_000
    assert raised.source("budget.history") == "config/assistant.toml"


WRONG = [
    ("a wrong type", "[budget]\nhistory = 'many'", "budget.history = 'many' is wrong"),
    ("an unknown key", "[budget]\nhistroy = 5", "Did you mean budget.history?"),
    ("an unknown section", "[bugdet]\nhistory = 5", "Did you mean budget.history?"),
    ("a key without section", "histroy = 5", "there is no setting histroy."),
    ("a word that is none of them", "[session]\ntitle = 'nobody'", "session.title = 'nobody'"),
    ("too small", "[budget]\nreply = -5", "budget.reply = -5 is out of bounds (16 to "),
    ("zero seconds", "[model]\ntimeout = 0", "model.timeout = 0 is out of bounds"),
    ("not a number", "[model]\ntimeout = nan", "model.timeout = nan is out of bounds"),
    ("endless seconds", "[model]\ntimeout = inf", "model.timeout = inf is out of bounds"),
    ("too large", "[model]\ncontext_window = 1" + "0" * 400, "is"),
    ("more digits than can be read", "[budget]\nreply = " + "1" * 5001, "can't be read"),
    ("nested without end", "x = " + "[" * 100_000, "can't be read"),
    ("no TOML", "[budget\n", "can't be read"),
    ("a list", "[budget]\nhistory = [1]", "budget.history = [1] is wrong"),
    ("trigger above history", "[budget]\nhistory = 100\ntrigger = 200", "is above budget.history"),
]


@pytest.mark.parametrize(
    ("text", "sentence"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG]
)
def test_what_is_wrong_is_named_and_the_rest_is_used(home: Path, text: str, sentence: str) -> None:
    loaded = load_settings(toml(home, text), ENDPOINT)
    assert len(loaded.problems) == 1
    assert sentence in loaded.problems[0]
    assert loaded.values.session.recap == 2


def test_good_values_beside_a_wrong_one_are_used(home: Path) -> None:
    loaded = load_settings(toml(home, "[budget]\nhistory = 'x'\nreply = 99\n"), ENDPOINT)
    assert (loaded.values.budget.history, loaded.values.budget.reply) == (3_000, 99)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"MODEL_NAME='open\n"])
def test_an_env_file_that_is_no_text_or_broken_is_said(home: Path, content: bytes) -> None:
    home.mkdir(parents=True)
    (home / ".env").write_bytes(content)
    loaded = load_settings(home, ENDPOINT)
    assert loaded.values.model.name == "gpt-4o-mini"
    assert len(loaded.problems) == 1
    assert ".env" in loaded.problems[0]


def test_a_pipe_in_the_place_of_env_is_not_waited_for(home: Path) -> None:
    home.mkdir(parents=True)
    os.mkfifo(home / ".env")
    assert "it is no file" in load_settings(home, ENDPOINT).problems[0]


def test_an_env_that_can_not_be_read_is_said(home: Path) -> None:
    (home / ".env").mkdir(parents=True)
    loaded = load_settings(home, ENDPOINT)
    assert len(loaded.problems) == 1
    assert ".env can't be read" in loaded.problems[0]
    assert "assistant setup" in loaded.problems[0]


def test_an_env_without_permission_is_said(tmp_path: Path) -> None:
    home = env(tmp_path / "h", "MODEL_NAME=x\n")
    # Root reads everything: the check runs as nobody, once everything is imported.
    become = "os.setgid(65534); os.setuid(65534)" if os.getuid() == 0 else "pass"
    code = (
        "import os, sys, dotenv; from pathlib import Path\n"
        "from assistant.settings import load_settings\n"
        f"{become}\n"
        "print(load_settings(Path(sys.argv[1]), {}).problems)"
    )
    for folder in (home, *home.parents):
        if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
            folder.chmod(folder.stat().st_mode | 0o055)
    (home / ".env").chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True
    )
    assert "Permission denied" in done.stdout


def test_a_key_is_never_repeated_and_a_model_without_endpoint_is_said(home: Path) -> None:
    loaded = load_settings(toml(home, "[model]\napi_key = 123456789\nname = 'big'\n"), {})
    assert "123456789" not in " ".join(loaded.problems)
    assert "api_key = (not shown) is wrong" in loaded.problems[0]
    assert "A model is named (big) but neither a key nor an address is set" in loaded.problems[1]


def test_a_home_relative_to_the_folder_one_stands_in_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be a whole path"):
        find_home({"ASSISTANT_HOME": "notes"})
    with pytest.raises(ConfigError, match="must be a whole path"):
        find_home({"ASSISTANT_HOME": "~nobody-of-that-name/x"})


def test_the_home_is_where_it_is_set_else_the_checkout(tmp_path: Path) -> None:
    assert find_home({"ASSISTANT_HOME": str(tmp_path)}) == tmp_path
    assert find_home({"ASSISTANT_HOME": "~/x"}) == Path.home() / "x"
    assert find_home({}) == CHECKOUT


def test_the_shipped_config_says_the_defaults(home: Path) -> None:
    shipped = (CHECKOUT / "config" / "assistant.toml").read_text("utf-8")
    defaults = load_settings(home / "none", {}).values
    assert load_settings(toml(home, shipped), {}).values == defaults
    taken = re.sub(r"^# (\w+ = )", r"\1", shipped, flags=re.MULTILINE)
    loaded = load_settings(toml(home, taken), ENDPOINT)
    assert loaded.problems == []
    for name in setting_names():
        if name in ENVIRONMENT.values():
            continue
        assert loaded.source(name) == "config/assistant.toml", name
        if value_of(Settings(), name) is not None:  # else it is found out, or follows another
            assert value_of(loaded.values, name) == value_of(Settings(), name)


def test_the_env_example_names_every_variable() -> None:
    example = (CHECKOUT / ".env.example").read_text("utf-8")
    names = set(re.findall(r"^#? ?([A-Z_]+)=", example, re.MULTILINE))
    assert names == {*ENVIRONMENT, "ASSISTANT_HOME"}


def test_every_setting_is_reached_by_name() -> None:
    assert all(value_of(Settings(), name) is not Ellipsis for name in setting_names())
    assert len(setting_names()) == len(set(setting_names())) >= 14
