"""Everything that `assistant doctor` looks at, put together from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path

from assistant.app import local_now, new_session_id
from assistant.errors import ChatModelError, EmbedderUnavailable, ServerFailed
from assistant.memory.checks.erasure_checks import (
    check_erased_logs,
    check_erased_stores,
    check_unfinished,
)
from assistant.memory.checks.file_checks import check_left_over, check_permissions, check_room
from assistant.memory.checks.findings import Check, Finding
from assistant.memory.checks.index_checks import check_index
from assistant.memory.checks.log_checks import check_logs, check_parts, is_locked
from assistant.memory.checks.store_checks import (
    check_calendar,
    check_facts,
    check_memos,
    check_promises,
    check_prompt_history,
    check_vectors,
)
from assistant.memory.model_profiles import ModelProfiles
from assistant.memory.session_store import SessionStore
from assistant.protocols import TokenCounter
from assistant.providers.local_chat import EMBEDDED_ADDRESS, EMBEDDED_NAME
from assistant.providers.local_embedder import embedded_embedder
from assistant.providers.local_readiness import embedded_problem
from assistant.providers.local_weights import QWEN
from assistant.providers.milvus_folder import indexed_digests
from assistant.providers.milvus_home import MilvusHome
from assistant.providers.openai_chat import OpenAIChat
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for
from assistant.settings import LoadedSettings, Settings

#: Seconds that an endpoint has to list its models.
TIMEOUT = 5.0
#: Years that a clock which is set shows.
YEARS = range(2025, 2101)


def all_checks(
    settings: LoadedSettings,
    environment: Mapping[str, str],
    *,
    offline: bool,
    clock: Callable[[], datetime] = local_now,
) -> Sequence[Check]:
    """The checks, in the order they are told. None of them writes anything; `offline` leaves out
    what asks the endpoint.
    """
    values = settings.values
    return (
        *_file_checks(settings.home),
        *_memory_checks(settings, clock),
        Check("clock", lambda: check_clock(clock())),
        Check("time zone", lambda: check_zone(environment)),
        Check("settings", lambda: check_settings(settings.problems)),
        Check("model", partial(check_model, values, offline=offline)),
        Check("context window", partial(check_window, values, settings.data_folder, offline)),
        Check("tokenizer", lambda: check_tokenizer(TiktokenCounter(encoding_for(_name(values))))),
        Check("embedder", partial(check_embedder, values)),
    )


def _file_checks(home: Path) -> Sequence[Check]:
    return (
        Check("permissions", partial(check_permissions, home)),
        Check("left-over files", partial(check_left_over, home)),
        Check("disk space", partial(check_room, home)),
    )


def _memory_checks(settings: LoadedSettings, clock: Callable[[], datetime]) -> Sequence[Check]:
    sessions, data = settings.sessions_folder, settings.data_folder
    store = SessionStore(sessions, data, clock=clock, new_id=new_session_id, keep_catalog=False)
    index = MilvusHome(data / "index.db", uri=None, token=None, user=lambda: _user(settings.values))

    def discard() -> None:
        index.discard()
        (data / "index.json").unlink(missing_ok=True)

    def zone() -> tzinfo:
        return clock().tzinfo or UTC

    def is_open(session_id: str) -> bool:
        return is_locked(data / "locks" / f"{session_id}.lock")

    return (
        Check("session files", lambda: check_logs(sessions, is_open, store.rewrite, clock())),
        Check("unfinished replies", lambda: check_parts(sessions, is_open)),
        Check("calendar", lambda: check_calendar(data, zone())),
        Check("memos", partial(check_memos, data)),
        Check("facts", partial(check_facts, data)),
        Check("promises", partial(check_promises, data)),
        Check("prompt history", partial(check_prompt_history, data)),
        Check("vector cache", partial(check_vectors, data)),
        Check("memory index", lambda: _check_index(settings, store, discard)),
        Check("unfinished erasing", partial(check_unfinished, data)),
        Check("erased from sessions", lambda: check_erased_logs(sessions, store.rewrite)),
        Check(
            "erased elsewhere",
            lambda: check_erased_stores(
                data, sessions, zone(), lambda: index.stored(None), discard
            ),
        ),
    )


# --- the memory index ---------------------------------------------------------------------------


def _check_index(
    settings: LoadedSettings,
    store: SessionStore,
    discard: Callable[[], None],
) -> Iterator[Finding]:
    """The rows in the folder; those on a server are not read here."""
    memory = settings.values.memory
    if not memory.index:
        yield Finding("ok", "The setting memory.index is off.")
    elif memory.milvus_uri:
        yield Finding(
            "ok", "It is on a server: `assistant index status` compares it with the sessions."
        )
    else:
        data, user = settings.data_folder, _user(settings.values)
        yield from check_index(
            lambda: indexed_digests(data / "index.db", user), discard, store, data / "index.json"
        )


def _user(values: Settings) -> str:
    """Whose rows those in the folder are."""
    return values.memory.user or "local"


# --- the machine and the settings ---------------------------------------------------------------


def check_clock(now: datetime) -> Iterator[Finding]:
    """Whether the clock is set at all."""
    if now.year not in YEARS:
        yield Finding(
            "problem",
            f"The clock says {now:%Y-%m-%d}: everything is kept with wrong dates. Set it right.",
        )
    else:
        yield Finding("ok", f"{now:%Y-%m-%d %H:%M}")


def check_zone(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the zone is known by its name, and that zone has the system's offset now."""
    from tzlocal import reload_localzone

    try:
        zone = str(reload_localzone())
    except (OSError, ValueError, KeyError):
        named = environment.get("TZ")
        where = f"TZ is “{named}”, which names none" if named else "The system names none"
        yield Finding(
            "warning",
            f"{where}. Times have the right offset now, and may be an hour off across a change of "
            "the clocks. Set TZ to a name such as Europe/Berlin or Asia/Shanghai.",
        )
    else:
        yield Finding("ok", zone)


def check_settings(problems: Sequence[str]) -> Iterator[Finding]:
    """What was wrong with config and `.env` when they were read."""
    for problem in problems:
        yield Finding("problem", problem)


# --- the model ----------------------------------------------------------------------------------


def _name(values: Settings) -> str:
    """What the model that answers is called."""
    if values.uses_endpoint:
        return values.model.name
    path = _local_path(values)
    return path.stem if path else EMBEDDED_NAME


def _local_path(values: Settings) -> Path | None:
    path = values.model.local_path
    return Path(path).expanduser() if path else None


def _endpoint(values: Settings) -> OpenAIChat:
    model = values.model
    return OpenAIChat(
        model.name,
        base_url=model.base_url,
        api_key=model.api_key,
        timeout=TIMEOUT,
        max_retries=0,
    )


def check_model(values: Settings, *, offline: bool) -> Iterator[Finding]:
    """Whether the endpoint answers and has the model; or whether the embedded one is there."""
    if not values.uses_endpoint:
        from platformdirs import user_cache_path

        folder = user_cache_path("assistant", appauthor=False)
        problem = embedded_problem(QWEN, folder, _local_path(values))
        named = f"The embedded model, {_name(values)}."
        yield Finding("problem", problem) if problem else Finding("ok", named)
    elif offline:
        yield Finding("ok", "The endpoint was not asked.")
    else:
        yield from _endpoint_findings(values)


def _endpoint_findings(values: Settings) -> Iterator[Finding]:
    model = _endpoint(values)
    try:
        offered = model.list_models()
    except ServerFailed as error:
        # Some answer well and list nothing.
        yield Finding("warning", str(error))
        return
    except ChatModelError as error:
        yield Finding("problem", str(error))
        return
    finally:
        model.close()
    for name in (values.model.name, values.memory.embedding_model):
        if name and name not in offered:
            yield Finding(
                "warning", f"{model.address} does not list {name}: it may refuse to use it."
            )
    yield Finding("ok", f"{model.address} answers; models it lists: {len(offered):,}.")


def check_window(values: Settings, data: Path, offline: bool) -> Iterator[Finding]:
    """Whether the model's window is known, and the budget fits into it."""
    window, source = _window(values, data, offline)
    if source == "default for unknown models":
        yield Finding(
            "warning",
            f"Nobody says how much {_name(values)} takes: {window:,} tokens are assumed. "
            "model.context_window in config/assistant.toml sets it.",
        )
    else:
        yield Finding("ok", f"{window:,} tokens ({source}).")
    budget = values.budget
    wanted = budget.reply + budget.history + budget.recalled + budget.facts
    if wanted > window:
        yield Finding(
            "warning",
            f"Reply, history, recalled and facts may take {wanted:,} tokens by the settings, which "
            f"is more than the window of {window:,}: earlier turns get less than they could.",
        )


def _window(values: Settings, data: Path, offline: bool) -> tuple[int, str]:
    address = EMBEDDED_ADDRESS
    if values.uses_endpoint:
        model = _endpoint(values)
        address = model.address
        try:
            asked = offline or values.model.context_window is not None
            named = None if asked else model.context_window()
        finally:
            model.close()
        if named is not None:
            return named, "endpoint"
    profiles = ModelProfiles(data / "models.json")
    profile = profiles.profile(address, _name(values), configured=values.model.context_window)
    return profile.window, profile.window_source


def check_tokenizer(counter: TokenCounter) -> Iterator[Finding]:
    """Whether tokens are counted or estimated."""
    if counter.problem:
        yield Finding("warning", counter.problem)
    else:
        yield Finding("ok", counter.encoding)


def check_embedder(values: Settings) -> Iterator[Finding]:
    """Whether there is something to find memories by their meaning."""
    memory = values.memory
    if not memory.index or memory.embedder == "none":
        yield Finding("ok", "None is wanted: memories are found by their words.")
    elif memory.embedding_model and values.uses_endpoint:
        yield Finding("ok", f"{memory.embedding_model}, at the endpoint.")
    else:
        try:
            chosen = None if memory.embedder == "auto" else memory.embedder
            yield Finding("ok", embedded_embedder(chosen).name)
        except EmbedderUnavailable as error:
            yield Finding("warning", str(error))
