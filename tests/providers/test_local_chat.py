"""LocalChat with a real child process; those marked `local_model` with the real model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from assistant.errors import ChatModelError, ContextTooLong, NotConfigured, ServerFailed
from assistant.messages import Message, ToolCall
from assistant.protocols import ChatModel, ReplyPart
from assistant.providers import local_server
from assistant.providers.local_chat import EMBEDDED_NAME, LocalChat, ServedChat
from assistant.providers.local_tools import TEXT_GRAMMAR
from assistant.tools import all_groups
from tests.endpoint import Endpoint

# Taken when the module is read: the model is put together once a machine, not once a test.
WEIGHTS_FOLDER = platformdirs.user_cache_path("assistant", appauthor=False)
ROOT = Path(__file__).parents[2]
WINDOW = 2048

real_model = pytest.mark.local_model
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
posix = pytest.mark.skipif(os.name != "posix", reason="sends signals")


def embedded(model_path: Path | None = None, weights_folder: Path = WEIGHTS_FOLDER) -> LocalChat:
    return LocalChat(
        weights_folder,
        model_path,
        threads=1,
        context_window=WINDOW,
        on_progress=lambda text: None,
    )


@pytest.fixture(scope="module")
def chat() -> Iterator[LocalChat]:
    pytest.importorskip("xllamacpp")
    model = embedded()
    model.load()
    yield model
    model.close()


def ask(model: ChatModel, text: str, max_tokens: int = 24) -> list[ReplyPart]:
    messages = (
        Message(role="system", content="You are a helpful assistant. Answer briefly."),
        Message(role="user", content=text),
    )
    return list(model.stream(messages, max_tokens=max_tokens))


def text_of(parts: list[ReplyPart]) -> str:
    return "".join(part.text for part in parts)


def until_gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not is_zombie(pid)


def is_zombie(pid: int) -> bool:
    """Dead, but its parent, a new one perhaps that doesn't care, has not taken note of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def test_nothing_is_started_before_it_is_needed(tmp_path: Path) -> None:
    model = embedded(weights_folder=tmp_path / "cache")

    assert (model.name, model.address) == (EMBEDDED_NAME, "embedded")
    assert model.context_window() == WINDOW
    assert model.pid is None
    assert not (tmp_path / "cache").exists()
    model.close()


def test_another_file_gives_its_name(tmp_path: Path) -> None:
    assert embedded(tmp_path / "my-model-Q8.gguf").name == "my-model-Q8"


def test_a_closed_model_says_so(tmp_path: Path) -> None:
    model = embedded(tmp_path / "none.gguf")
    model.close()
    model.close()

    with pytest.raises(ChatModelError, match="was closed"):
        model.load()


@pytest.mark.parametrize(
    ("library", "kind", "words"),
    [
        ("raise ImportError('libgomp.so.1: no such file')", NotConfigured, r"libgomp\.so\.1"),
        ("import os; os.kill(os.getpid(), 9)", ServerFailed, "memory ran out"),
        ("import os; os._exit(3)", ServerFailed, r"broke down \(code 3\)"),
        ("import os; os.kill(os.getpid(), 4)", NotConfigured, "AVX2"),
    ],
)
@posix
def test_a_library_that_fails_when_it_is_imported_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    kind: type[ChatModelError],
    words: str,
) -> None:
    (tmp_path / "xllamacpp.py").write_text(library)
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    model = embedded(tmp_path / "own.gguf")

    for _ in range(2):
        with pytest.raises(kind, match=rf"{words}.*Nothing was lost.*assistant setup"):
            model.load()
        assert model.pid is None
    model.close()


CALL = '{"name": "create_event", "arguments": {"title": "Review", "start": "tomorrow 3pm"}}'
TOOLS = [tool.schema for group in all_groups() for tool in group.tools]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def served(endpoint: Endpoint) -> Iterator[ServedChat]:
    model = ServedChat("own", base_url=endpoint.url, api_key=None, timeout=5, max_retries=0)
    yield model
    model.close()


def test_a_request_is_a_call_that_the_model_is_not_asked_for(
    endpoint: Endpoint, served: ServedChat
) -> None:
    served.times_in = lambda text: [text.partition("Review ")[2].partition(",")[0]]
    messages = (Message("system", "Be brief."), Message("user", "Review tomorrow 3pm, add it."))

    [last] = served.stream(messages, tools=TOOLS, max_tokens=50)

    (call,) = last.tool_calls
    assert (call.name, last.finish_reason) == ("create_event", "tool_calls")
    assert call.arguments == '{"title": "Review", "start": "tomorrow 3pm"}'
    assert endpoint.requests == []


@pytest.mark.parametrize("may_call", [True, False])
def test_what_asks_for_nothing_is_answered_in_words(
    endpoint: Endpoint, served: ServedChat, may_call: bool
) -> None:
    endpoint.reply(CALL)
    messages = (Message("system", "Be brief."), Message("user", "Hi."))

    parts = list(served.stream(messages, tools=TOOLS, may_call=may_call, max_tokens=50))

    assert (text_of(parts), parts[-1].tool_calls) == (CALL, ())
    [sent] = endpoint.requests
    assert "tools" not in sent
    assert sent["grammar"] == TEXT_GRAMMAR
    assert sent["messages"][0]["content"] == f"Be brief.\n\n{served.tools_text(TOOLS)}"


def test_without_may_call_a_request_is_none(endpoint: Endpoint, served: ServedChat) -> None:
    endpoint.reply("No.")
    messages = (Message("user", "Cancel the dentist."),)

    parts = list(served.stream(messages, tools=TOOLS, may_call=False, max_tokens=50))

    assert text_of(parts) == "No."


@pytest.mark.parametrize(
    ("result", "said"),
    [("Cancelled at 2026-11-30 10:15: Dentist", "已取消：Dentist"), ("2026: Lisbon.", "里斯本。")],
)
def test_a_result_is_told_in_its_own_words_or_the_models(
    endpoint: Endpoint, served: ServedChat, result: str, said: str
) -> None:
    endpoint.reply("里斯本。")
    messages = (
        Message("user", "取消牙医"),
        Message("assistant", "", tool_calls=(ToolCall("a", "cancel_event", "{}"),)),
        Message("tool", result, tool_call_id="a"),
    )

    # Also where another round would be allowed: the request is not carried out twice.
    parts = list(served.stream(messages, tools=TOOLS, max_tokens=50))

    assert (text_of(parts), parts[-1].tool_calls) == (said, ())
    assert len(endpoint.requests) == (1 if said == "里斯本。" else 0)


def test_without_tools_there_is_no_grammar_and_earlier_calls_are_text(
    endpoint: Endpoint, served: ServedChat
) -> None:
    messages = (
        Message("user", "Review?"),
        Message("assistant", "", tool_calls=(ToolCall("a", "recall", '{"question": "x"}'),)),
        Message("tool", "Nothing.", tool_call_id="a"),
    )
    other = served.another()
    list(other.stream(messages, max_tokens=50))
    other.close()

    assert "grammar" not in endpoint.requests[0]
    roles = [message["role"] for message in endpoint.requests[0]["messages"]]
    assert roles == ["user", "assistant", "user"]


@real_model
def test_it_calls_a_tool_and_stays_with_text_where_it_must(chat: LocalChat) -> None:
    messages = (Message("user", "Cancel event ek3f9."),)
    cancel = [one for one in TOOLS if one["function"]["name"] == "cancel_event"]

    (call,) = list(chat.stream(messages, tools=cancel, max_tokens=50))[-1].tool_calls
    parts = list(chat.stream(messages, tools=cancel, may_call=False, max_tokens=8))

    assert (call.name, call.arguments) == ("cancel_event", '{"id": "ek3f9"}')
    assert text_of(parts)
    assert parts[-1].tool_calls == ()


@real_model
def test_what_was_read_ahead_is_not_read_again() -> None:
    pytest.importorskip("xllamacpp")
    chat = embedded()
    system = Message("system", "Answer in one word. " * 10)
    cancel = TOOLS[:1]
    try:
        chat.read_ahead((system,), cancel)
        *_, last = chat.stream((system, Message("user", "Hi.")), tools=cancel, max_tokens=1)
    finally:
        chat.close()

    assert last.usage is not None
    assert last.usage.cached_tokens > 60


LIBRARY = """
from types import SimpleNamespace

def CommonParams():
    parts = ("model", "cpuparams", "cpuparams_batch", "sampling")
    return SimpleNamespace(**{part: SimpleNamespace() for part in parts})

def Server(params):
    return SimpleNamespace(listening_address="http://127.0.0.1:%d")
"""


@pytest.fixture
def child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint
) -> Iterator[LocalChat]:
    """A model whose child serves the endpoint in the place of a model."""
    (tmp_path / "xllamacpp.py").write_text(LIBRARY % endpoint.port)
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    model = embedded(tmp_path / "own.gguf")
    yield model
    model.close()


SYSTEM = (Message("system", "Be brief."),)


def test_what_is_read_ahead_is_what_stands_first_with_the_tools(
    endpoint: Endpoint, child: LocalChat
) -> None:
    child.read_ahead(SYSTEM, TOOLS)
    list(child.stream((*SYSTEM, Message("user", "Hi.")), tools=TOOLS, max_tokens=50))

    ahead, asked = endpoint.requests
    assert ahead["messages"][0] == asked["messages"][0]
    assert ahead["max_tokens"] == 1


@pytest.mark.parametrize("ended_by", ["a reply", "its end"])
def test_what_is_read_ahead_is_given_up_when_a_reply_is_wanted(
    endpoint: Endpoint, child: LocalChat, ended_by: str
) -> None:
    failed: list[ChatModelError] = []

    def read_ahead() -> None:
        try:
            child.read_ahead(SYSTEM, TOOLS)
        except ChatModelError as error:
            failed.append(error)

    endpoint.stall_after("")
    reading = threading.Thread(target=read_ahead)
    reading.start()
    while not endpoint.requests:
        time.sleep(0.01)
    if ended_by == "a reply":
        endpoint.reply("Hello.")
        parts = child.stream((*SYSTEM, Message("user", "Hi.")), max_tokens=50)
        assert text_of(list(parts)) == "Hello."
    else:
        child.close()

    assert endpoint.client_left()
    reading.join()
    assert failed == []


def test_once_a_reply_was_wanted_nothing_is_read_ahead(
    endpoint: Endpoint, child: LocalChat
) -> None:
    list(child.stream((*SYSTEM, Message("user", "Hi.")), max_tokens=50))
    child.read_ahead(SYSTEM, TOOLS)

    assert len(endpoint.requests) == 1


def test_why_nothing_can_be_read_ahead_is_told(endpoint: Endpoint, child: LocalChat) -> None:
    endpoint.fail(500)
    with pytest.raises(ServerFailed):
        child.read_ahead(SYSTEM, TOOLS)


@real_model
def test_a_broken_model_file_is_told_and_leaves_no_process(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(4096))
    model = embedded(tmp_path / "broken.gguf")

    with pytest.raises(ServerFailed, match=r"can't be loaded.*Nothing was lost.*OPENAI_BASE_URL"):
        model.load()
    assert model.pid is None
    model.close()


@real_model
def test_it_answers_in_english_with_usage(chat: LocalChat) -> None:
    parts = ask(chat, "What is the capital of France? One word.")

    assert "Paris" in text_of(parts)
    assert parts[-1].finish_reason == "stop"
    assert parts[-1].usage is not None
    assert parts[-1].usage.prompt_tokens > 10
    assert parts[-1].usage.completion_tokens > 0


@real_model
def test_it_answers_in_chinese(chat: LocalChat) -> None:
    assert "北京" in text_of(ask(chat, "中国的首都是哪里？请用一个词回答。"))


@real_model
def test_an_unchanged_beginning_is_not_read_again(chat: LocalChat) -> None:
    first = ask(chat, "Say yes. " * 20, max_tokens=1)[-1].usage
    second = ask(chat, "Say yes. " * 20 + "Now!", max_tokens=1)[-1].usage

    assert first is not None
    assert second is not None
    assert second.cached_tokens > 50


@real_model
def test_a_reply_left_early_frees_the_model(chat: LocalChat) -> None:
    reply = chat.stream((Message(role="user", content="Count from 1 to 500."),), max_tokens=1500)
    next(reply)
    reply.close()  # type: ignore[attr-defined]

    begun = time.monotonic()
    ask(chat, "Hi", max_tokens=2)
    # 1500 tokens take minutes.
    assert time.monotonic() - begun < 30


@real_model
def test_a_prompt_larger_than_the_window_carries_the_limit(chat: LocalChat) -> None:
    with pytest.raises(ContextTooLong) as caught:
        ask(chat, "word " * (WINDOW + 500))
    assert caught.value.limit == WINDOW


@real_model
def test_loading_again_does_nothing(chat: LocalChat) -> None:
    chat.load()
    before = chat.pid
    threads = [threading.Thread(target=chat.load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert chat.pid == before


@real_model
@posix
def test_ctrl_c_at_the_terminal_does_not_reach_the_model(chat: LocalChat) -> None:
    chat.load()
    pid = chat.pid
    assert pid is not None
    assert os.getpgid(pid) != os.getpgid(0)

    os.killpg(pid, signal.SIGINT)
    assert "Paris" in text_of(ask(chat, "What is the capital of France? One word."))
    assert chat.pid == pid


@real_model
@posix
def test_a_process_that_died_between_turns_is_started_again(chat: LocalChat) -> None:
    chat.load()
    pid = chat.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert until_gone(pid, 5)

    assert "Paris" in text_of(ask(chat, "What is the capital of France? One word."))
    assert chat.pid not in (None, pid)


@real_model
@posix
@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (signal.SIGKILL, ChatModelError, "memory ran out"),
        (signal.SIGILL, NotConfigured, "AVX2"),
        (signal.SIGSEGV, ChatModelError, "broke down"),
    ],
)
def test_a_process_that_dies_in_the_middle_of_a_reply_is_told(
    chat: LocalChat, number: signal.Signals, kind: type[ChatModelError], words: str
) -> None:
    reply = chat.stream((Message(role="user", content="Count from 1 to 500."),), max_tokens=500)
    assert next(reply).text
    assert chat.pid is not None
    os.kill(chat.pid, number)

    with pytest.raises(kind, match=f"{words}.*Nothing was lost.*assistant setup"):
        list(reply)
    assert chat.pid is None


@real_model
def test_closing_while_it_loads_ends_the_process() -> None:
    pytest.importorskip("xllamacpp")
    model = embedded()
    errors: list[ChatModelError] = []

    def load() -> None:
        try:
            model.load()
        except ChatModelError as error:
            errors.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    while model.pid is None:
        time.sleep(0.01)
    pid, begun = model.pid, time.monotonic()
    model.close()
    thread.join()

    assert time.monotonic() - begun < 3
    assert until_gone(pid, 1)
    assert [str(error) for error in errors] == ["The embedded model was closed."]


@real_model
def test_closing_ends_the_process() -> None:
    pytest.importorskip("xllamacpp")
    model = embedded()
    model.load()
    pid, begun = model.pid, time.monotonic()
    model.close()

    assert pid is not None
    assert until_gone(pid, 1)
    assert time.monotonic() - begun < 2
    with pytest.raises(ChatModelError, match="was closed"):
        ask(model, "Hi")


PARENT = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from assistant.providers.local_chat import LocalChat

    model = LocalChat(
        Path(sys.argv[1]), None, threads=1, context_window=1024, on_progress=lambda text: None
    )
    model.load()
    print(model.pid, flush=True)
    time.sleep(600)
    """
)


@real_model
@posix
def test_the_process_dies_with_a_parent_that_was_killed() -> None:
    pytest.importorskip("xllamacpp")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(WEIGHTS_FOLDER)], stdout=subprocess.PIPE, cwd=ROOT
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()

    assert until_gone(pid, 5)


@real_model
@linux
def test_the_command_line_carries_no_key(chat: LocalChat) -> None:
    chat.load()
    command = Path(f"/proc/{chat.pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")

    assert command[1:] == [b"-P", os.fsencode(local_server.__file__)]


@real_model
@linux
def test_it_listens_on_loopback_only_and_to_nobody_without_the_key(chat: LocalChat) -> None:
    chat.load()
    assert chat.pid is not None
    [(host, port)] = listening(chat.pid)
    assert host == "0100007F"

    body = b'{"messages": [{"role": "user", "content": "Hi"}]}'
    address = f"http://127.0.0.1:{port}/v1/chat/completions"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    caught.value.close()
    assert caught.value.code == 401


def listening(pid: int) -> list[tuple[str, int]]:
    """Where a process listens: hexadecimal addresses, as the kernel writes them, and ports."""
    files = {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        if Path(f"/proc/net/{table}").exists()
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return [
        (row[1].partition(":")[0], int(row[1].partition(":")[2], 16))
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in files
    ]
