"""What is known of each model: its window, and how its tokens compare with ours."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from assistant.memory.files import make_folder, write_atomically

DEFAULT_WINDOW = 8_192

# Input windows of models whose endpoint does not name them, in their own tokens; the longest
# matching start wins. From the providers' model pages.
KNOWN_WINDOWS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 272_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "chatgpt-4o": 128_000,
    "claude-": 200_000,
    "gemini-": 1_048_576,
    "deepseek-": 128_000,
    "qwen-plus": 131_072,
    "qwen-turbo": 131_072,
    "qwen-max": 32_768,
    "qwen2.5": 32_768,
    "qwen3": 32_768,
    "llama-3": 128_000,
    "llama3": 8_192,
    "mistral-": 32_768,
    "moonshot-v1-8k": 8_192,
    "moonshot-v1-32k": 32_768,
    "moonshot-v1-128k": 131_072,
    "kimi-": 131_072,
    "glm-4": 128_000,
}
# Tokenizers whose ratio to ours is not known yet may count up to this much more.
UNKNOWN_RATIO = 1.15
# Weight of the newest measurement in the running mean of a model's ratio.
RATIO_WEIGHT = 0.3
# A ratio outside of this says that the endpoint counts something else than this prompt.
PLAUSIBLE_RATIO = (0.3, 4.0)


# What an endpoint names outside of this is a slip of its configuration.
PLAUSIBLE_WINDOW = (256, 100_000_000)


class Learnt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What endpoint and experience taught about one model."""

    window: int | None = None
    """The limit an endpoint named when it refused a prompt."""
    ratio: float | None = None
    """The model's own tokens for one of ours, a running mean over replies."""
    named: int | None = None
    """The window the endpoint lists for it."""


class ModelProfile(msgspec.Struct, frozen=True):
    """The window of a model in its own tokens, where that is known from, and its token ratio."""

    window: int
    window_source: str
    ratio: float
    ratio_measured: bool

    def ours(self, tokens: int) -> int:
        """The model's own tokens as we count them.

        A model that counts less than we do gets no more: the next text may be of another kind.
        """
        return int(tokens / max(1.0, self.ratio))

    def theirs(self, tokens: int) -> int:
        """Our tokens as the model counts them; at least 1."""
        return max(1, int(tokens * self.ratio))


_decoder = msgspec.json.Decoder(dict[str, Learnt])


class ModelProfiles:
    """Profiles by endpoint and model, kept in one small file without any content of the user's.

    `path` None keeps them in memory only. The file is derived: unreadable, it is begun anew.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._learnt: dict[str, Learnt] | None = None
        self._named: set[str] = set()
        self._refused: dict[str, int] = {}

    def profile(self, address: str, model: str, *, configured: int | None) -> ModelProfile:
        """Window from: the setting, what the endpoint said, the table of known models, 8,192."""
        key = f"{address} {model}"
        learnt = self._all().get(key, Learnt())
        window, source = self._window(key, model, learnt, configured)
        ratio = learnt.ratio or (1.0 if model.startswith("gpt-") else UNKNOWN_RATIO)
        return ModelProfile(window, source, ratio, ratio_measured=learnt.ratio is not None)

    def _window(
        self, key: str, model: str, learnt: Learnt, configured: int | None
    ) -> tuple[int, str]:
        candidates = (
            # What was refused just now is true whatever setting or list say.
            (self._refused.get(key), "endpoint, when it refused a longer prompt"),
            (configured, "setting"),
            (learnt.named if key in self._named else None, "endpoint"),
            (learnt.window, "endpoint, when it refused a longer prompt"),
            (learnt.named, "endpoint"),
            (known_window(model), "table of known models"),
        )
        for window, source in candidates:
            if window is not None:
                return window, source
        return DEFAULT_WINDOW, "default for unknown models"

    def endpoint_named(self, address: str, model: str, window: int) -> None:
        """The endpoint lists this window for the model; one that can't be is not believed."""
        if not PLAUSIBLE_WINDOW[0] <= window <= PLAUSIBLE_WINDOW[1]:
            return
        key = f"{address} {model}"
        self._named.add(key)
        self._update(key, named=window)

    def is_named(self, address: str, model: str) -> bool:
        """Whether the endpoint's own figure is known, from this run or an earlier one."""
        return self._all().get(f"{address} {model}", Learnt()).named is not None

    def refused(self, address: str, model: str, window: int) -> None:
        """The endpoint refused a prompt and named its true limit."""
        self._refused[f"{address} {model}"] = window
        self._update(f"{address} {model}", window=window)

    def guessed(self, address: str, model: str, window: int) -> None:
        """A prompt was refused and no usable limit named: believed in this run, and not kept."""
        self._refused[f"{address} {model}"] = window

    def measured(self, address: str, model: str, *, ours: int, theirs: int) -> None:
        """One prompt took `theirs` tokens by the endpoint's usage and `ours` by our count."""
        if ours <= 0 or not PLAUSIBLE_RATIO[0] <= theirs / ours <= PLAUSIBLE_RATIO[1]:
            return
        key = f"{address} {model}"
        before = self._all().get(key, Learnt()).ratio
        now = theirs / ours
        mean = now if before is None else before + RATIO_WEIGHT * (now - before)
        self._update(key, ratio=round(mean, 4))

    def _update(self, key: str, **learnt_now: float) -> None:
        before = self._all().get(key, Learnt())
        learnt = msgspec.structs.replace(before, **learnt_now)
        if learnt == before:
            return
        self._all()[key] = learnt
        if self._path is not None:
            # Derived, and learnt again from the next reply: a disk that refuses it stops nothing.
            with contextlib.suppress(OSError):
                make_folder(self._path.parent)
                write_atomically(self._path, msgspec.json.encode(self._all()))

    def _all(self) -> dict[str, Learnt]:
        if self._learnt is None:
            self._learnt = self._read()
        return self._learnt

    def _read(self) -> dict[str, Learnt]:
        if self._path is None:
            return {}
        try:
            return _decoder.decode(self._path.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}


def known_window(model: str) -> int | None:
    """The window of a known model, by the longest start of its name without a vendor's prefix."""
    name = model.rsplit("/", 1)[-1].lower()
    starts = [start for start in KNOWN_WINDOWS if name.startswith(start)]
    return KNOWN_WINDOWS[max(starts, key=len)] if starts else None
