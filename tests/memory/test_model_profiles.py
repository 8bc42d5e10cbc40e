"""Where a window comes from, and how the ratio between the model's tokens and ours is learnt."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.memory.model_profiles import ModelProfiles, known_window


def test_the_window_comes_from_setting_endpoint_experience_table_default(tmp_path: Path) -> None:
    def profiles() -> ModelProfiles:
        return ModelProfiles(tmp_path / "models.json")

    first = profiles()
    assert first.profile("a", "mystery", configured=None).window == 8_192
    assert first.profile("a", "gpt-4o-2024", configured=None).window == 128_000
    first.refused("a", "gpt-4o-2024", 32_000)
    assert first.profile("a", "gpt-4o-2024", configured=None).window == 32_000
    # What was refused just now stands above what the user believes.
    assert first.profile("a", "gpt-4o-2024", configured=64_000).window == 32_000
    assert profiles().profile("a", "gpt-4o-2024", configured=None).window == 32_000
    assert profiles().profile("a", "gpt-4o-2024", configured=64_000).window == 64_000
    assert profiles().profile("b", "gpt-4o-2024", configured=None).window == 128_000
    # In a later run an endpoint that names its window is believed again.
    later = profiles()
    later.endpoint_named("a", "gpt-4o-2024", 100_000)
    assert later.profile("a", "gpt-4o-2024", configured=None).window == 100_000
    assert later.profile("a", "gpt-4o-2024", configured=50_000).window == 50_000
    assert later.is_named("a", "gpt-4o-2024")
    assert not later.is_named("b", "gpt-4o-2024")
    # And is kept, though below what a refusal has shown.
    assert profiles().profile("a", "gpt-4o-2024", configured=None).window == 32_000


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-turbo-preview", 128_000),
        ("openai/gpt-4.1-mini", 1_047_576),
        ("deepseek-chat", 128_000),
        ("Qwen2.5-7B", 32_768),
        ("unheard-of", None),
    ],
)
def test_known_models(model: str, window: int | None) -> None:
    assert known_window(model) == window


def test_the_ratio_is_a_running_mean_kept_over_restarts(tmp_path: Path) -> None:
    profiles = ModelProfiles(tmp_path / "models.json")
    assert profiles.profile("a", "m", configured=None).ratio == 1.15
    assert profiles.profile("a", "gpt-4o", configured=None).ratio == 1.0
    profiles.measured("a", "m", ours=100, theirs=150)
    assert profiles.profile("a", "m", configured=None).ratio == 1.5
    profiles.measured("a", "m", ours=100, theirs=100)
    again = ModelProfiles(tmp_path / "models.json").profile("a", "m", configured=None)
    assert again.ratio == pytest.approx(1.35)
    assert again.ratio_measured
    assert again.ours(2_700) in (1_999, 2_000)


@pytest.mark.parametrize(("ours", "theirs"), [(0, 10), (100, 5), (10, 1_000)])
def test_an_absurd_measurement_is_not_believed(ours: int, theirs: int) -> None:
    profiles = ModelProfiles(None)
    profiles.measured("a", "m", ours=ours, theirs=theirs)
    assert not profiles.profile("a", "m", configured=None).ratio_measured


@pytest.mark.parametrize("content", [b"", b"{", b'{"a m": 3}', b"\xff"])
def test_a_broken_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "models.json").write_bytes(content)
    profiles = ModelProfiles(tmp_path / "models.json")
    profiles.refused("a", "m", 1_000)
    reread = ModelProfiles(tmp_path / "models.json")
    assert reread.profile("a", "m", configured=None).window == 1_000


def test_a_folder_that_can_not_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    profiles = ModelProfiles(tmp_path / "file" / "models.json")
    profiles.refused("a", "m", 1_000)
    assert profiles.profile("a", "m", configured=None).window == 1_000


@pytest.mark.parametrize("window", [2, 10**30])
def test_a_window_that_can_not_be_is_not_believed(window: int) -> None:
    profiles = ModelProfiles(None)
    profiles.endpoint_named("a", "m", window)
    assert profiles.profile("a", "m", configured=None).window == 8_192


def test_a_model_that_counts_less_than_we_do_gets_no_larger_window() -> None:
    profiles = ModelProfiles(None)
    profiles.measured("a", "m", ours=100, theirs=50)
    profile = profiles.profile("a", "m", configured=None)
    assert profile.ours(profile.window) == profile.window
