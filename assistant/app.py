"""Builds everything from the settings: the only place that wires."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from assistant import __version__
from assistant.afterwards import Afterwards, Asides
from assistant.commands import all_commands
from assistant.commands.context import CommandContext
from assistant.errors import (
    ChatModelError,
    EraseBusy,
    EraseError,
    SessionError,
    SessionNotFound,
)
from assistant.learning import Learner
from assistant.memory.assembly import Fixed, with_facts
from assistant.memory.compaction.compaction_plan import CompactionLimits
from assistant.memory.compaction.compactor import Compactor
from assistant.memory.facts.known_facts import KnownFacts
from assistant.memory.files import make_folder, write_atomically
from assistant.memory.last_sessions import LastSessions, terminal_key
from assistant.memory.model_profiles import DEFAULT_WINDOW, ModelProfiles
from assistant.memory.promises import Promises
from assistant.memory.recall.indexer import Indexer
from assistant.memory.recall.retriever import Retriever
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.memory.stores import HomeStores
from assistant.messages import Language, Message
from assistant.protocols import ChatModel, Embedder, Erasable, IndexHome, ReadsAhead, TokenCounter
from assistant.providers.milvus_home import MilvusHome
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for
from assistant.settings import SHIPPED_CONFIG, LoadedSettings, Settings
from assistant.tools import all_groups
from assistant.tools.registry import ToolContext, ToolRegistry
from assistant.tools.rounds import ToolLimits
from assistant.turn import BudgetLimits, Pipeline
from assistant.worker import Worker

if TYPE_CHECKING:
    from assistant.memory.compaction.summarizer import Summarizer
    from assistant.memory.erasing.eraser import Eraser
    from assistant.memory.erasing.forgetting import Forgetting
    from assistant.memory.facts.fact_extractor import FactExtractor
    from assistant.memory.facts.facts import Facts
    from assistant.providers.openai_chat import OpenAIChat

log = logging.getLogger(__name__)

# None that is mistaken for another when it is read aloud or copied by hand.
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
# Seconds that a turn waits for its question to be embedded by the endpoint.
QUESTION_TIMEOUT = 3.0
# Seconds for the step the worker is in and for putting the index on the disk.
CLOSING = 2.0
# Seconds that an erase waits for what the worker is just doing.
RESTING = 10.0
# A trial is patient enough for a local server that loads its model first, and for reasoning.
TRIAL_TIMEOUT = 60.0
TRIAL_TOKENS = 500
# Exceptions of one failure that the log tells of.
LONGEST_CHAIN = 10


def local_now() -> datetime:
    """The time in the user's zone, by its IANA name where the system tells it."""
    return datetime.now(_local_zone())


@functools.cache
def _local_zone() -> tzinfo | None:
    from tzlocal import get_localzone

    try:
        return get_localzone()
    except (OSError, ValueError, KeyError):
        # A TZ that names no zone: the system's offset is all there is.
        return datetime.now().astimezone().tzinfo


def new_session_id() -> str:
    """`20261129-215354-k3f`: sorts by time (UTC), is typed by its start, and fits a file name."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{_letters(3)}"


def new_entry_letters() -> str:
    """`k3f9q`: for the id of an event, a memo or a fact, which is typed by hand."""
    return _letters(5)


def _letters(number: int) -> str:
    return "".join(LETTERS[byte % len(LETTERS)] for byte in os.urandom(number))


@dataclass
class Progress:
    """What is being loaded at the moment, and who wants to hear of it."""

    text: str = ""
    _listener: Callable[[str], None] | None = None

    def say(self, text: str) -> None:
        self.text = text
        listener = self._listener
        if listener is not None:
            listener(text)

    @contextmanager
    def told_to(self, listener: Callable[[str], None]) -> Iterator[None]:
        """Tell `listener` too, while the block lasts. It may be called on the worker's thread."""
        self._listener = listener
        try:
            yield
        finally:
            self._listener = None


@dataclass
class App:
    """One run of the program: what is shared by all its sessions."""

    settings: LoadedSettings
    store: SessionStore
    worker: Worker
    pipeline: Pipeline
    indexer: Indexer
    index_home: IndexHome
    stores: HomeStores
    learner: Learner
    promises: Promises
    last_sessions: LastSessions
    clock: Callable[[], datetime]
    progress: Progress
    asides: Asides
    afterwards: Afterwards
    terminal: str | None
    """The key of the terminal window we run in."""
    private: bool
    """Whether nothing of this run is kept."""
    _remembered: str | None = None
    _told_of_erasing: str = ""

    def context(self, session: Session) -> CommandContext:
        """What the slash commands work on, beginning with this session."""
        self.opened(session)
        return CommandContext(
            session=session,
            store=self.store,
            pipeline=self.pipeline,
            settings=self.settings,
            registry=all_commands(),
            indexer=self.indexer,
            stores=self.stores,
            make_eraser=self.eraser,
            make_forgetting=self.forgetting,
            at_rest=self.at_rest,
            opened=self.opened,
            left=self.left,
        )

    def opened(self, session: Session) -> None:
        """Remember the session as this terminal's last, once there is something in it.

        A private one leaves no trace.
        """
        if self.terminal is None or session.private or not session.turns:
            return
        if session.id != self._remembered:
            self.last_sessions.set(self.terminal, session.id)
            self._remembered = session.id

    def left(self, session: Session) -> None:
        """Look for facts in a session that is left."""
        if not session.private and session.turns:
            self.learner.look_at(session.id)

    def eraser(self) -> Eraser:
        """What erases from every store of this home."""
        from assistant.memory.erasing.eraser import Eraser

        return Eraser(
            self._erasables(),
            self._erasing,
            claimed=self.store.claimed,
            all_sessions=self.store.files,
        )

    def _erasables(self) -> Sequence[Erasable]:
        """Every store of this home: the session files, of which others are made, come first."""
        from assistant.memory.erasing.calendar_eraser import CalendarEraser
        from assistant.memory.erasing.entry_eraser import fact_eraser, memo_eraser
        from assistant.memory.erasing.exports import ExportFiles
        from assistant.memory.erasing.index_eraser import IndexEraser
        from assistant.memory.erasing.plain_files import LeftOvers, MendedCopies, WordlessFiles
        from assistant.memory.erasing.prompt_history import PromptHistoryEraser
        from assistant.memory.erasing.session_files import SessionFiles
        from assistant.memory.erasing.vector_eraser import VectorEraser
        from assistant.memory.promises import PromiseEraser

        data = self.settings.data_folder
        return [
            SessionFiles(self.store, self.settings.sessions_folder, data),
            fact_eraser(data / "facts.jsonl"),
            memo_eraser(data / "memos.jsonl"),
            CalendarEraser(data / "calendar.ics"),
            PromiseEraser(data / "promises.json"),
            PromptHistoryEraser(data / "prompt_history"),
            # Before the cache: a step that is under way puts no vector back into it then.
            IndexEraser(self.indexer, self.index_home, self.store),
            VectorEraser(data / "vectors.sqlite3"),
            ExportFiles(data / "exports.json"),
            MendedCopies(data / "before-doctor"),
            LeftOvers(
                data,
                self.settings.home / "config",
                [data / name for name in ("calendar.ics", "facts.jsonl", "memos.jsonl")],
            ),
            WordlessFiles(data),
        ]

    def forgetting(self) -> Forgetting:
        """What finds all that a person wants forgotten."""
        from assistant.memory.erasing.exports import Exports
        from assistant.memory.erasing.forgetting import Forgetting

        data = self.settings.data_folder
        return Forgetting(
            self.store,
            self.stores,
            prompt_history=data / "prompt_history",
            exports=Exports(data / "exports.json"),
            index_home=self.index_home,
            clock=self.clock,
            new_id=new_entry_letters,
        )

    def finish_erasing(self, say: Callable[[str], None] = lambda text: None) -> str:
        """Go on with an erase that was broken off; what came of it in a sentence, "" for none.

        The same sentence is told once.
        """
        told = self._finished_erase(say) if self._erasing.exists() else ""
        if told == self._told_of_erasing:
            return ""
        self._told_of_erasing = told
        return told

    def _finished_erase(self, say: Callable[[str], None]) -> str:
        try:
            receipt = self.eraser().finish(say)
        except EraseBusy:
            return ""  # it is not broken off
        except (EraseError, SessionError) as error:
            return f"An erase that was begun is not finished: {error}"
        if receipt is None:
            return (
                "An erase that was agreed to was stopped before it began: nothing was erased. "
                "/forget it again."
            )
        if receipt.nothing_left:
            return "An erase that was broken off is finished: nothing left."
        left = "; ".join(f"{one.store}: {one.why or one.left}" for one in receipt.remaining)
        return f"An erase that was broken off went on. Left: {left}"

    @property
    def _erasing(self) -> Path:
        return self.settings.data_folder / "erasing.json"

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Give what is done in the background a moment to end, before something is erased.

        What takes longer looks before it writes: a summary and a title at their session, which is
        closed by then, facts and promises at the turns they come from, the indexer at the logs.
        """
        with self.pipeline.giving_way():
            self.worker.drain(timeout=RESTING)
            try:
                yield
            finally:
                # Sentences about it that nobody has read yet would say it once more.
                list(self.asides.take())

    def last_session_id(self) -> tuple[str, bool]:
        """The session `--continue` opens, and whether it was this terminal's.

        A window without one goes on with the session used last anywhere.
        """
        sessions = self.store.list()
        if self.terminal is not None:
            own = self.last_sessions.get(self.terminal)
            if any(info.id == own for info in sessions):
                return str(own), True
        if not sessions:
            raise SessionNotFound("There is no session to continue yet. `assistant` starts one.")
        return sessions[0].id, False

    def warm_up(self, open_session: str = "") -> None:
        """Load on the worker what the first turn needs, while the user types."""
        self.worker.submit("load the tokenizer", self._load_counter)
        self.worker.submit("load the model", self._load_model)
        self.indexer.start()
        self.learner.look_at_left(not_at=open_session)

    def close(self) -> None:
        """Let the worker finish what is short, and end what we started."""
        self.pipeline.compactor.stop()
        self.learner.stop()
        self.pipeline.model.close()
        self.indexer.stop()
        self.worker.submit("close the index", self.indexer.close)
        self.worker.close(timeout=CLOSING)

    def _load_counter(self) -> None:
        counter = self.pipeline.counter
        if not counter.exact:
            log.warning("Tokens are estimated: the tokenizer's ranks are not there")

    def _load_model(self) -> None:
        try:
            self.pipeline.model.load()
        except ChatModelError as error:
            # The first question meets the same trouble and shows it.
            log.warning("The model could not be loaded ahead: %s", type(error).__name__)
            return
        self.progress.say("")
        self.learn_window()
        self._read_ahead()

    def _read_ahead(self) -> None:
        """Have the embedded model read what every prompt begins with, while the user types."""
        model = self.pipeline.model
        if not isinstance(model, ReadsAhead):
            return
        fixed = self.pipeline.fixed_now(self.clock(), private=self.private)
        system = Message(role="system", content=with_facts(fixed))
        try:
            model.read_ahead((system,), fixed.tools)
        except ChatModelError as error:
            log.warning("Nothing was read ahead: %s", type(error).__name__)

    @contextmanager
    def answered_by(self, name: str | None) -> Iterator[Pipeline]:
        """The pipeline for turns that another model of the same endpoint answers; None: the usual.

        What is done in the background goes on with the usual model.
        """
        if name is None:
            yield self.pipeline
            return
        other = self.pipeline.model.another(name)
        pipeline = replace(self.pipeline, model=other)
        pipeline.hand_over = replace(self.afterwards, pipeline=pipeline).take
        try:
            self.learn_window(pipeline)
            yield pipeline
        finally:
            # Behind what a turn has handed over: that may still ask it.
            self.worker.submit("close a model", other.close)

    def learn_window(self, pipeline: Pipeline | None = None) -> None:
        """Ask the endpoint for the model's window, unless it is set or was named before."""
        pipeline = pipeline or self.pipeline
        model, profiles = pipeline.model, pipeline.profiles
        if pipeline.limits.window is not None or profiles.is_named(model.address, model.name):
            return
        window = model.context_window()
        if window is not None:
            profiles.endpoint_named(model.address, model.name, window)


def build_app(
    settings: LoadedSettings,
    *,
    private: bool = False,
    one_shot: bool = False,
    titles: Literal["model", "words", "off"] | None = None,
    environment: Mapping[str, str] = os.environ,
    clock: Callable[[], datetime] = local_now,
    new_id: Callable[[], str] = new_session_id,
    new_letters: Callable[[], str] = new_entry_letters,
) -> App:
    """Everything one run needs. Nothing heavy is loaded and nothing is written yet.

    `one_shot` does nothing that the single question does not need: no index, which takes seconds
    to open, and no summaries ahead. The next conversation catches up.
    """
    values, data = settings.values, settings.data_folder
    worker, progress, asides = Worker(), Progress(), Asides()
    store = SessionStore(
        settings.sessions_folder,
        data,
        clock=clock,
        new_id=new_id,
        program=f"assistant {__version__}",
        keep_catalog=not private,
    )
    stores = HomeStores(
        data,
        clock=clock,
        new_letters=new_letters,
        # In a private conversation nothing is written, not even a vector of an older memo.
        embedder=lambda: None if private else _embedder(values, data / "vectors.sqlite3"),
    )
    model = _chat_model(values, progress.say, lambda text: stores.times.expressions(text))
    profiles = ModelProfiles(None if private else data / "models.json")
    counter = TiktokenCounter(encoding_for(model.name))
    title_by = titles or values.session.title
    if not values.uses_endpoint and title_by == "model":
        title_by = "words"
    index_home = _index_home(settings, new_id)
    indexer = Indexer(
        index_home,
        lambda: _embedder(values, data / "vectors.sqlite3"),
        store,
        data / "index.json",
        submit=worker.submit,
        say=asides.say,
        clock=clock,
        monotonic=time.monotonic,
        off=_index_off(values, private, one_shot),
    )
    retriever = Retriever(
        indexer,
        store,
        counter,
        facts_then=lambda question, now: stores.facts.bearing_on(question, now),
        clock=clock,
        monotonic=time.monotonic,
    )
    pipeline = Pipeline(
        model=model,
        counter=counter,
        profiles=profiles,
        fixed=Fixed(read_prompt(settings.home, "system")),
        limits=_limits(values),
        # The model is looked up when it is used: /model may have changed it.
        compactor=_compactor(settings, lambda: pipeline.model, counter, profiles, clock),
        retriever=retriever,
        tools=ToolRegistry(
            all_groups if values.tools.enabled else lambda: (),
            ToolContext(stores, retriever),
        ),
        tool_limits=ToolLimits(
            values.tools.max_tool_rounds,
            values.tools.max_tool_result_tokens,
            values.tools.confirm,
        ),
        known=KnownFacts(lambda: stores.facts, counter, values.budget.facts, asides.say).at,
        giving_way=lambda: _giving_way(pipeline, learner),
        clock=clock,
        hand_over=lambda session, turn: None,
    )
    learner = Learner(
        lambda: _fact_extractor(settings, pipeline, stores.facts),
        lambda: stores.facts,
        store,
        submit=worker.submit,
        say=asides.say,
        clock=clock,
        on=values.memory.learn and not private and not one_shot,
        gives_way=not values.uses_endpoint,
    )
    promises = Promises(data / "promises.json", store.has_turn, store.has_message)
    afterwards = Afterwards(
        pipeline,
        worker,
        indexer,
        learner,
        promises,
        asides,
        title_by,
        read_prompt(settings.home, "title"),
        plans_ahead=not one_shot,
        finish_erasing=lambda: app.finish_erasing(),
    )
    pipeline.hand_over = afterwards.take
    log_to(None if private else data / "logs" / "assistant.log")
    app = App(
        settings=settings,
        store=store,
        worker=worker,
        pipeline=pipeline,
        indexer=indexer,
        index_home=index_home,
        stores=stores,
        learner=learner,
        promises=promises,
        last_sessions=LastSessions(data / "terminals.json"),
        clock=clock,
        progress=progress,
        asides=asides,
        afterwards=afterwards,
        terminal=terminal_key(environment),
        private=private,
    )
    return app


def _chat_model(
    values: Settings,
    on_progress: Callable[[str], None],
    times_in: Callable[[str], Sequence[str]],
) -> ChatModel:
    model = values.model
    # Each is imported only where it is used: the other one would only delay the prompt.
    if values.uses_endpoint:
        from assistant.providers.openai_chat import OpenAIChat

        return OpenAIChat(
            model.name,
            base_url=model.base_url,
            api_key=model.api_key,
            timeout=model.timeout,
            max_retries=model.retries,
        )
    from platformdirs import user_cache_path

    from assistant.providers.local_chat import LocalChat

    return LocalChat(
        user_cache_path("assistant", appauthor=False),
        Path(model.local_path).expanduser() if model.local_path else None,
        threads=model.threads or _threads(os.cpu_count() or 1),
        context_window=model.context_window or DEFAULT_WINDOW,
        on_progress=on_progress,
        times_in=times_in,
    )


def _threads(cores: int) -> int:
    """All cores but one, for the terminal; a machine of two gives both, or it is half as fast."""
    return max(min(2, cores), cores - 1)


def endpoint_models(base_url: str | None, api_key: str | None) -> Sequence[str]:
    """The models an endpoint offers. Raises ChatModelError."""
    model = _endpoint("", base_url, api_key)
    try:
        return model.list_models()
    finally:
        model.close()


def try_model(base_url: str | None, api_key: str | None, name: str) -> str:
    """One short reply of a model, to see that it answers. Raises ChatModelError."""
    model = _endpoint(name, base_url, api_key)
    hello = Message(role="user", content="Say hello in three words.")
    try:
        return "".join(part.text for part in model.stream([hello], max_tokens=TRIAL_TOKENS))
    finally:
        model.close()


def _endpoint(name: str, base_url: str | None, api_key: str | None) -> OpenAIChat:
    from assistant.providers.openai_chat import OpenAIChat

    return OpenAIChat(
        name, base_url=base_url, api_key=api_key, timeout=TRIAL_TIMEOUT, max_retries=0
    )


def _compactor(
    settings: LoadedSettings,
    model: Callable[[], ChatModel],
    counter: TokenCounter,
    profiles: ModelProfiles,
    clock: Callable[[], datetime],
) -> Compactor:
    budget, memory = settings.values.budget, settings.values.memory
    messages = budget.compact_messages or max(1, budget.recent_messages * 4 // 5)

    def window() -> int:
        answering = model()
        writer = memory.summary_model or answering.name
        # The window that is set is that of the model that answers.
        configured = settings.values.model.context_window if writer == answering.name else None
        profile = profiles.profile(answering.address, writer, configured=configured)
        return profile.ours(profile.window)

    def summarizer() -> Summarizer:
        from assistant.memory.compaction.summarizer import Summarizer, SummaryBounds, SummaryPrompts

        return Summarizer(
            lambda: model().another(memory.summary_model),
            counter,
            {
                language: SummaryPrompts(
                    read_prompt(settings.home, f"summary.{language}"),
                    read_prompt(settings.home, f"shorten.{language}"),
                )
                for language in get_args(Language)
            },
            SummaryBounds(memory.summary_words, memory.kept_tokens),
            window=window,
            clock=clock,
        )

    return Compactor(
        summarizer,
        counter,
        CompactionLimits(
            tokens=min(budget.trigger, budget.history),
            keep_tokens=budget.trigger // 2 if budget.keep is None else budget.keep,
            messages=messages,
            keep_messages=messages // 2 if budget.keep_messages is None else budget.keep_messages,
        ),
        gives_way=not settings.values.uses_endpoint,
    )


def _fact_extractor(settings: LoadedSettings, pipeline: Pipeline, facts: Facts) -> FactExtractor:
    from assistant.memory.facts.fact_extractor import TOGETHER, FactExtractor

    def window() -> int:
        profile = pipeline.profile()
        return profile.ours(profile.window)

    return FactExtractor(
        lambda: pipeline.model.another(settings.values.memory.summary_model),
        facts,
        pipeline.counter,
        {
            language: read_prompt(settings.home, f"facts.{language}")
            for language in get_args(Language)
        },
        window=window,
        # A small model overlooks less in one turn at a time.
        together=TOGETHER if settings.values.uses_endpoint else 1,
        approve=settings.values.memory.approve,
    )


@contextmanager
def _giving_way(pipeline: Pipeline, learner: Learner) -> Iterator[None]:
    """While a reply is wanted, nothing else uses a model that can't do two things at once."""
    with pipeline.compactor.giving_way(), learner.giving_way():
        yield


def _embedder(values: Settings, cache: Path) -> Embedder | None:
    """The embedder that is set, or an embedded one; None when words alone are wanted.

    Raises EmbedderUnavailable when there is none of that kind.
    """
    from assistant.memory.recall.vector_cache import CachedEmbedder, VectorCache

    memory = values.memory
    if memory.embedding_model and values.uses_endpoint:
        patient = _endpoint_embedder(values, values.model.timeout, values.model.retries)
        quick = _endpoint_embedder(values, QUESTION_TIMEOUT, max_retries=0)
        return CachedEmbedder(patient, VectorCache(cache), for_questions=quick)
    if memory.embedder == "none":
        return None
    from assistant.providers.local_embedder import embedded_embedder

    embedder = embedded_embedder(None if memory.embedder == "auto" else memory.embedder)
    return CachedEmbedder(embedder, VectorCache(cache))


def _endpoint_embedder(values: Settings, timeout: float, max_retries: int) -> Embedder:
    from assistant.providers.openai_embedder import OpenAIEmbedder

    return OpenAIEmbedder(
        values.memory.embedding_model or "",
        base_url=values.model.base_url,
        api_key=values.model.api_key,
        timeout=timeout,
        max_retries=max_retries,
    )


def _index_home(settings: LoadedSettings, new_id: Callable[[], str]) -> IndexHome:
    memory = settings.values.memory
    return MilvusHome(
        settings.data_folder / "index.db",
        uri=memory.milvus_uri,
        token=memory.milvus_token,
        user=lambda: _memory_user(settings, new_id),
    )


def _memory_user(settings: LoadedSettings, new_id: Callable[[], str]) -> str:
    """Whose rows these are in the index. On a server of several people each home has its own name.

    Made up once and kept in `data/user`: not derived from anything, so not the same by chance.
    """
    memory = settings.values.memory
    if memory.user or memory.milvus_uri is None:
        return memory.user or "local"
    path = settings.data_folder / "user"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if known := path.read_text("utf-8").strip():
            return known
    name = f"home-{new_id()}"
    with contextlib.suppress(OSError):
        make_folder(path.parent)
        write_atomically(path, name.encode())
    return name


def _index_off(values: Settings, private: bool, one_shot: bool) -> str:
    """Why the index is left alone in this run; empty when it is not."""
    if one_shot:
        return "One question does not wait for the index to be opened."
    if private:
        return "In a private conversation the index is left alone, so that it leaves no trace."
    return "" if values.memory.index else "The setting memory.index is off."


def _limits(values: Settings) -> BudgetLimits:
    budget = values.budget
    return BudgetLimits(
        window=values.model.context_window,
        reply=budget.reply,
        history=budget.history,
        recent_messages=budget.recent_messages,
        recalled=budget.recalled,
    )


def read_prompt(home: Path, name: str) -> str:
    """A prompt by name: the home's own, else the one that came with the program."""
    for folder in (home / "config", SHIPPED_CONFIG):
        try:
            return (folder / "prompts" / f"{name}.md").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
    raise FileNotFoundError(f"config/prompts/{name}.md is missing from the installation")


def log_to(path: Path | None) -> None:
    """Warnings and tracebacks go to one file, made with its first line, or nowhere at all."""
    root = logging.getLogger("assistant")
    root.propagate = False
    root.setLevel(logging.WARNING)
    for before in list(root.handlers):
        root.removeHandler(before)
        before.close()
    root.addHandler(logging.NullHandler() if path is None else _PrivateFile(path))


class _PrivateFile(logging.FileHandler):
    """A log file only its owner can read, opened when there is something to write."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(_Wordless("%(asctime)s %(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            make_folder(Path(self.baseFilename).parent)
            os.close(os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        except OSError:
            return
        super().emit(record)

    def close(self) -> None:
        # What a full disk did not take is not worth an end in errors.
        with contextlib.suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk, as a rule: the conversation hears of it where something is to be saved."""


class _Wordless(logging.Formatter):
    """Of an exception tells where it was raised and its kind, not its text: that may quote what
    was said, and nothing that is erased may stand in a log.
    """

    def formatException(self, ei: Any) -> str:
        import traceback  # here, because the prompt need not wait for it

        error: BaseException | None = ei[1]
        told: list[str] = []
        while error is not None and len(told) < LONGEST_CHAIN:
            frames = "".join(traceback.format_tb(error.__traceback__))
            told.append(f"{frames}{type(error).__name__}")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\nwhich came of:\n".join(told)
