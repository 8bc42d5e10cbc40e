"""The checks of the machine, the settings and the model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from assistant.doctor import (
    all_checks,
    check_clock,
    check_embedder,
    check_model,
    check_settings,
    check_tokenizer,
    check_window,
    check_zone,
)
from assistant.memory.checks.findings import Finding
from assistant.memory.model_profiles import ModelProfiles
from assistant.settings import LoadedSettings, Settings, load_settings
from tests.endpoint import MODEL, Endpoint
from tests.fakes import FakeCounter

KEY = "sk-verysecret-0123456789"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        yield endpoint


def settings(home: Path, environment: Mapping[str, str], **flags: Any) -> Settings:
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return load_settings(home, environment, named).values


def states(findings: Iterator[Finding]) -> list[str]:
    return [one.state for one in findings]


def test_names_of_checks_are_told_apart(home: Path) -> None:
    loaded = LoadedSettings(Settings(), home, {})
    names = [one.name for one in all_checks(loaded, {}, offline=True)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("year", "state"), [(1970, "problem"), (2025, "ok"), (2100, "ok"), (2101, "problem")]
)
def test_a_clock_that_is_not_set_is_a_problem(year: int, state: str) -> None:
    assert states(check_clock(datetime(year, 3, 4))) == [state]


def test_a_zone_without_a_name_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(check_zone(os.environ)) == ["ok"]
    monkeypatch.setenv("TZ", "Mars/Olympus")
    (finding,) = check_zone(os.environ)
    assert finding.state == "warning"
    assert "Mars/Olympus" in finding.text


def test_settings_that_are_wrong_are_a_problem_each() -> None:
    assert states(check_settings(["there is no setting budget.histroy.", "wrong"])) == [
        "problem",
        "problem",
    ]


# --- the model ----------------------------------------------------------------------------------


def test_an_endpoint_that_has_the_model_is_in_order(home: Path, endpoint: Endpoint) -> None:
    values = settings(home, {"OPENAI_BASE_URL": endpoint.url, "MODEL_NAME": MODEL})
    assert states(check_model(values, offline=False)) == ["ok"]
    assert endpoint.requests == []


@pytest.mark.parametrize("name", ["MODEL_NAME", "EMBEDDING_MODEL"])
def test_a_model_that_is_not_listed_is_a_warning(home: Path, endpoint: Endpoint, name: str) -> None:
    environment = {"OPENAI_BASE_URL": endpoint.url, "MODEL_NAME": MODEL, name: "another-model"}
    finding, _ = check_model(settings(home, environment), offline=False)
    assert finding.state == "warning"
    assert "another-model" in finding.text


def test_an_endpoint_that_does_not_answer_is_a_problem_and_no_key_is_told(home: Path) -> None:
    environment = {
        "OPENAI_BASE_URL": f"http://someone:{KEY}@127.0.0.1:9/v1",
        "OPENAI_API_KEY": KEY,
    }
    values = settings(home, environment)
    (finding,) = check_model(values, offline=False)
    assert finding.state == "problem"
    assert KEY not in finding.text
    (finding,) = check_model(values, offline=True)
    assert (finding.state, finding.text) == ("ok", "The endpoint was not asked.")


def test_the_embedded_model_needs_its_file(home: Path, tmp_path: Path) -> None:
    environment = {"ASSISTANT_LOCAL_MODEL": str(tmp_path / "none.gguf")}
    (finding,) = check_model(settings(home, environment), offline=True)
    assert finding.state == "problem"
    assert "none.gguf" in finding.text


# --- its window ---------------------------------------------------------------------------------


def window(home: Path, values: Settings, *, offline: bool = True) -> list[Finding]:
    return list(check_window(values, home / "data", offline))


def test_a_window_that_nobody_knows_is_a_warning(home: Path) -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MODEL_NAME": "my-model"}
    (finding,) = window(home, settings(home, environment))
    assert finding.state == "warning"
    assert "8,192 tokens are assumed" in finding.text
    assert not (home / "data").exists()


def test_a_window_is_said_with_where_it_is_known_from(home: Path, endpoint: Endpoint) -> None:
    environment = {"OPENAI_BASE_URL": endpoint.url, "MODEL_NAME": MODEL}
    values = settings(home, environment)
    profiles = ModelProfiles(home / "data" / "models.json")
    profiles.refused(endpoint.url, MODEL, 20_000)
    endpoint.models = [{"id": MODEL, "object": "model", "max_model_len": 32_768}]
    assert "20,000 tokens (endpoint, when it refused" in window(home, values)[0].text
    assert window(home, values, offline=False)[0].text == "32,768 tokens (endpoint)."
    set_by_hand = settings(home, environment, model__context_window=9_000)
    assert window(home, set_by_hand, offline=False)[0].text == "9,000 tokens (setting)."


def test_a_budget_above_the_window_is_a_warning(home: Path) -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    values = settings(home, environment, model__context_window=4_000)
    assert [one.state for one in window(home, values)] == ["ok", "warning"]


# --- what counts and finds ----------------------------------------------------------------------


def test_counts_that_are_estimates_are_a_warning() -> None:
    assert states(check_tokenizer(FakeCounter())) == ["ok"]
    (finding,) = check_tokenizer(FakeCounter(problem="Token counts are estimates."))
    assert (finding.state, finding.text) == ("warning", "Token counts are estimates.")


@pytest.mark.parametrize(
    ("embedder", "said"), [("none", "by their words"), ("use", "use"), ("auto", "")]
)
def test_the_embedder_that_would_be_used_is_named(home: Path, embedder: str, said: str) -> None:
    (finding,) = check_embedder(settings(home, {}, memory__embedder=embedder))
    assert finding.state == "ok"
    assert said in finding.text


def test_an_embedder_of_the_endpoint_is_not_asked(home: Path) -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "EMBEDDING_MODEL": "bge-m3"}
    (finding,) = check_embedder(settings(home, environment))
    assert (finding.state, finding.text) == ("ok", "bge-m3, at the endpoint.")
