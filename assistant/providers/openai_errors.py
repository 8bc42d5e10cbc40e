"""What went wrong with an OpenAI-compatible endpoint, told in our own errors: the one translator.

Used only after openai was imported; importing this module imports neither it nor httpx2.
"""

from __future__ import annotations

import difflib
import math
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import msgspec

from assistant.errors import (
    AuthenticationFailed,
    ChatModelError,
    ContextTooLong,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StreamBroken,
    TimedOut,
    UnknownModel,
    Unreachable,
)

if TYPE_CHECKING:
    import openai

# Patterns are plain texts here: `re` compiles and keeps them when one is first needed, which is
# after an error, not while the prompt is waited for.

#: Seconds a connection may take.
CONNECT_TIMEOUT = 5.0

#: Characters of an endpoint's own words that a sentence quotes at most.
LONGEST_QUOTE = 300

#: A window below this, in tokens, is a slip of the endpoint's (vLLM once counted wrongly).
SMALLEST_WINDOW = 256


class Call(msgspec.Struct, frozen=True):
    """The request that failed, as far as a sentence may speak of it.

    `address` has no secret in it and `timeout` is in seconds. `begun` says that text of the reply
    had come already. `names` asks the endpoint for its models; empty when it doesn't say.
    """

    address: str
    model: str
    secrets: tuple[str, ...]
    has_key: bool
    timeout: float
    begun: bool
    names: Callable[[], Sequence[str]]

    @property
    def place(self) -> str:
        """Host and port."""
        return urlsplit(self.address).netloc or self.address


class Failure(msgspec.Struct, frozen=True):
    """The error to raise, and whether the same request may succeed in `wait` seconds.

    `wait` is None where the endpoint named no time.
    """

    error: ChatModelError
    passing: bool = False
    wait: float | None = None


class Answer(msgspec.Struct, frozen=True):
    """An endpoint's answer that is an error.

    `status` is the HTTP status, or the one an error event names, else 0. `kinds` are its codes and
    types in lower case, `quote` its words fit to be shown, `text` all of it, to be searched.
    `fields` are the names and plain values in its body, `wait` the seconds it asks to wait, and
    `redirect` where it points to.
    """

    status: int
    kinds: frozenset[str]
    quote: str
    text: str
    fields: tuple[tuple[str, object], ...]
    wait: float | None
    redirect: str

    def mentions(self, pattern: str) -> bool:
        return re.search(pattern, self.text) is not None

    @property
    def quoted(self) -> str:
        """The endpoint's words as the end of a sentence."""
        return f": {self.quote}" if self.quote else ""


_Translator: TypeAlias = Callable[[Any, Call], Failure]


def foreign_errors() -> tuple[type[Exception], ...]:
    """What a call into the SDK can raise, for an `except` around that call and nothing else.

    Beside its own: httpx2's where it forgets to translate them, ValueError for broken JSON or
    UTF-8, RuntimeError for a client closed meanwhile or JSON nested too deep.
    """
    import httpx2
    import openai

    return (
        openai.OpenAIError,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        msgspec.ValidationError,
        ValueError,
        RuntimeError,
    )


def translations() -> dict[type[Exception], _Translator]:
    """Each error of the SDK and how it is told; the nearest ancestor counts for others."""
    import httpx2
    import openai

    return {
        openai.APITimeoutError: _timed_out,
        openai.APIConnectionError: _not_connected,
        openai.APIStatusError: _refused,
        openai.BadRequestError: _refused,
        openai.AuthenticationError: _refused,
        openai.OAuthError: _refused,
        openai.PermissionDeniedError: _refused,
        openai.NotFoundError: _refused,
        openai.ConflictError: _refused,
        openai.UnprocessableEntityError: _refused,
        openai.RateLimitError: _refused,
        openai.InternalServerError: _refused,
        openai.APIError: _refused,
        openai.APIResponseValidationError: _unreadable,
        openai.OpenAIError: _unreadable,
        httpx2.TimeoutException: _timed_out,
        httpx2.HTTPError: _not_connected,
        Exception: _unreadable,
    }


def translate(error: Exception, call: Call) -> Failure:
    """The failure that `error` means to the user. Raise it `from error`."""
    if call.begun:
        return Failure(StreamBroken(f"The reply broke off: {_reason(error, call)}. Ask again."))
    table = translations()
    translator = next(table[ancestor] for ancestor in type(error).__mro__ if ancestor in table)
    return translator(error, call)


def public_address(base_url: str) -> str:
    """`base_url` without user, password, query and closing slash: fit to be shown and stored."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return "(unreadable address)"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def wrong_address(address: str) -> str:
    """What to do about an endpoint that answers, but not as the chat API would."""
    if "/v1" in address:
        return f"Check OPENAI_BASE_URL: is {address} an OpenAI-compatible API?"
    return f"Check OPENAI_BASE_URL ({address}): most addresses end in /v1."


def answer_of(error: openai.APIError, secrets: Sequence[str] = ()) -> Answer:
    """What the endpoint said, from a response or from an error event in the stream."""
    fields = tuple(_plain_values(error.body))
    response = getattr(error, "response", None)
    headers = {} if response is None else response.headers
    words = _words(error.body) or ("" if error.body is not None else error.message)
    return Answer(
        status=getattr(error, "status_code", 0) or _status_among(fields),
        kinds=frozenset(
            str(value).lower() for name, value in fields if name in ("code", "type", "status")
        ),
        quote=plain(words, secrets),
        text="\n".join(value for _, value in fields if isinstance(value, str))[:20_000],
        fields=fields,
        wait=_named_wait(headers, words, fields),
        redirect=public_address(headers.get("location", "")),
    )


def plain(text: str, secrets: Sequence[str] = ()) -> str:
    """Foreign text on one line, without markup, control characters and secrets, cut to fit."""
    for secret in secrets:
        text = text.replace(secret, "…")
    text = re.sub(_KEY, "…", text)
    if re.search(_HTML, text):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title[1] if title else re.sub(r"<[^>]*>", " ", text)
    text = " ".join(re.sub(_ESCAPE, "", text).split())
    text = "".join(char for char in text if char.isprintable()).rstrip(" .")
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"


_KEY = r"\bsk-[\w*-]{8,}"
_HTML = r"(?i)<(!doctype|html|head|body)\b"
_ESCAPE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)"


# --- No answer ---------------------------------------------------------------------------------


def _timed_out(error: Exception, call: Call) -> Failure:
    if _caused_by(error, "ConnectTimeout"):
        seconds = min(CONNECT_TIMEOUT, call.timeout)
        return Failure(
            TimedOut(
                f"No connection to {call.place} within {seconds:g} seconds. "
                "Check the address and the network, then try again."
            )
        )
    return Failure(
        TimedOut(
            f"No answer from {call.place} within {call.timeout:g} seconds. "
            "Try again, or allow more time in the settings."
        )
    )


def _not_connected(error: Exception, call: Call) -> Failure:
    if _caused_by(error, "ConnectError", "ProxyError", "UnsupportedProtocol", "InvalidURL"):
        return Failure(Unreachable(_unreachable(error, call)))
    # A connection that dies before the answer is often an idle one that the endpoint had closed.
    return Failure(
        ServerFailed(f"{call.place} closed the connection without an answer. Try again."),
        passing=True,
    )


def _unreachable(error: Exception, call: Call) -> str:
    import ssl

    proxy = _proxy(call.address)
    host = urlsplit(proxy or call.address).hostname or call.place
    remedy = "check the proxy settings (HTTPS_PROXY)" if proxy else "check OPENAI_BASE_URL"
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"The certificate of {call.place} is not trusted: {plain(cause.verify_message)}. "
                "Check the address and the clock; for a certificate authority of your own "
                "set SSL_CERT_FILE to its file."
            )
        if isinstance(cause, ssl.SSLError):
            return (
                f"{call.place} can't be reached over TLS ({plain(cause.reason or str(cause))}). "
                "If it speaks plain HTTP, its address begins with http://."
            )
        if isinstance(cause, socket.gaierror):
            return f"There is no host named {host}, or no network: {remedy}."
        if isinstance(cause, ConnectionRefusedError):
            place = urlsplit(proxy).netloc if proxy else call.place
            start = "" if proxy else "start the server, or "
            return f"Nothing listens at {place}: {start}{remedy}."
    reason = plain(str(causes[-1]), call.secrets) or type(causes[-1]).__name__
    return f"{call.place} can't be reached ({reason}): {remedy}."


def _proxy(address: str) -> str:
    """The proxy on the way to `address`, without its password; empty when there is none."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not proxy or is_loopback(address) or proxy_bypass(parts.hostname or ""):
        return ""
    return public_address(proxy if "://" in proxy else f"http://{proxy}")


def is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _unreadable(error: Exception, call: Call) -> Failure:
    return Failure(
        ServerFailed(
            f"{call.place} sent something that can't be read ({_reason(error, call)}). "
            f"{wrong_address(call.address)}"
        )
    )


def _reason(error: Exception, call: Call) -> str:
    """In a few words, what ended a reply that had begun."""
    import httpx2
    import openai

    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return f"nothing came from {call.place} for {call.timeout:g} seconds"
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        return f"the connection to {call.place} was lost"
    if isinstance(error, openai.APIError):
        return f"{call.place} reported an error{answer_of(error, call.secrets).quoted}"
    return "not the JSON of the chat API"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _caused_by(error: Exception, *names: str) -> bool:
    return any(type(cause).__name__ in names for cause in _causes(error))


# --- An answer that is an error ----------------------------------------------------------------


def _refused(error: openai.APIError, call: Call) -> Failure:
    answer = answer_of(error, call.secrets)
    for told_apart in (_too_long, _quota_used_up, _filtered, _bad_key, _no_such_model):
        if failure := told_apart(answer, call):
            return failure
    return _by_status(answer, call)


def _too_long(answer: Answer, call: Call) -> Failure | None:
    too_big = answer.status == 413 or answer.mentions(_TOO_BIG_FOR_A_MINUTE)
    if not too_big:
        # A rate limit speaks of too many tokens as well, but those of a minute.
        if answer.status in (401, 403, 404, 429):
            return None
        if not (answer.kinds & _TOO_LONG_KINDS or answer.mentions(_TOO_LONG)):
            return None
    limit = context_limit(answer)
    most = f" (it takes {limit:,} tokens)" if limit else ""
    return Failure(
        ContextTooLong(
            f"The conversation is too long for {call.model}{most}. "
            "Shorten it, or start a new session.",
            limit,
        )
    )


_TOO_LONG_KINDS = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "string_above_max_length",
    }
)

#: Groq and OpenAI say so of one request above the whole allowance of a minute: no wait helps.
_TOO_BIG_FOR_A_MINUTE = r"(?i)request too large for"

_TOO_LONG = (
    r"(?i)maximum context length"
    r"|maximum (model|prompt|input|sequence) length"
    r"|context[ _-](length|size|window|limit)[^.]{0,60}(exceed|overflow|too|greater|not enough)"
    r"|context[ _-](length|size|window) is only"
    r"|exceed\w*[^.]{0,60} context"
    r"|tokens to keep from the initial prompt|context the overflows|context length of only"
    r"|longer than the (model's|maximum)"
    r"|(prompt|input|request|messages?) (is |are )?too (long|large)"
    r"|prompt contains \d+ tokens[^.]*too large"
    r"|input token count[^.]*exceeds|input tokens exceed"
    r"|prompt token count of \d+ exceeds"
    r"|exceeded model token limit|prompt exceeds max length|prompt\s*超长"
    r"|too many (input )?tokens"
    r"|`?inputs`? tokens \+ `?max_new_tokens"
    r"|reduce the length of the (messages|input|prompt)|reduce your prompt"
    r"|range of input length should be"
    r"|max_tokens must be at least 1, got -"
)

#: Where the wordings above name the window, the most telling first.
_LIMITS = (
    r"maximum (?:context|model|prompt|input|sequence) length(?: is| of|:)? ?(?:only )?(\d+)",
    r"(\d+) maximum",
    r"context limit: \d+ \+ \d+ > (\d+)",
    r"context (?:length|size|window|limit)(?: is| of)?(?: only)?[ (:]*(\d+)",
    r"\bn_ctx\W{1,4}(\d+)",
    r"tokens allowed \((\d+)\)",
    r"tokens? limit(?: of|:| is)? ?(\d+)",
    r"(?:exceeds the|configured) limit of (\d+)",
    r"while limit is (\d+)",
    r"must be <= (\d+)",
    r"cannot exceed (\d+)",
    r"\[\d+, ?(\d+)\]",
    r"\blimit (\d+), requested",
)


def context_limit(answer: Answer) -> int | None:
    """The window, in the model's tokens, that the answer names in its body or in words."""
    named = [value for name, value in answer.fields if name == "n_ctx"]
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", answer.text)
    found = [match[1] for pattern in _LIMITS if (match := re.search(pattern, text, re.I))]
    for value in (*named, *found):
        if isinstance(value, int | str) and str(value).isdigit() and int(value) >= SMALLEST_WINDOW:
            return int(value)
    return None


def _quota_used_up(answer: Answer, call: Call) -> Failure | None:
    said = answer.status == 402 or bool(answer.kinds & _QUOTA_KINDS)
    # Gemini says "quota" of its limits per minute too, but then names a wait.
    said = said or (answer.wait is None and answer.status != 401 and answer.mentions(_QUOTA))
    if not said:
        return None
    return Failure(
        RateLimited(
            f"The account at {call.place} has no credit or quota left{answer.quoted}. Waiting "
            "does not help: top it up there, or use another key or model."
        )
    )


_QUOTA_KINDS = frozenset(
    {
        "insufficient_quota",
        "insufficient_balance",
        "insufficient_user_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",
        "arrearage",
    }
)
_QUOTA = (
    r"(?i)insufficient (balance|credits?|funds|quota)|exceeded your current quota"
    r"|(out of|no|requires more) credits|余额不足|欠费"
)


def _filtered(answer: Answer, call: Call) -> Failure | None:
    said = bool(answer.kinds & _FILTER_KINDS)
    if not said and not (answer.status in (0, 400, 403) and answer.mentions(_FILTER)):
        return None
    return Failure(
        RequestRejected(
            f"The content filter of {call.place} refused the message{answer.quoted}. Rephrase it."
        )
    )


_FILTER_KINDS = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "datainspectionfailed",
        "content_moderation",
    }
)
_FILTER = (
    r"(?i)content (management policy|filter|exists risk)|was flagged|flagged for"
    r"|inappropriate content|敏感内容"
)


def _bad_key(answer: Answer, call: Call) -> Failure | None:
    if answer.status == 401 or answer.kinds & _KEY_KINDS:
        return Failure(AuthenticationFailed(_key_refused(call)))
    if answer.status in (400, 403) and answer.mentions(_KEY_TEXT):
        return Failure(AuthenticationFailed(_key_refused(call)))
    return None


_KEY_KINDS = frozenset({"invalid_api_key", "invalid_authentication_error", "authentication_error"})
_KEY_TEXT = (
    r"(?i)(invalid|incorrect|missing|expired) api[ _-]?key"
    r"|api[ _-]?key (is )?(not valid|invalid|expired)|no auth credentials"
)


def _key_refused(call: Call) -> str:
    if not call.has_key:
        return (
            f"{call.place} asks for an API key, and none is set. Put OPENAI_API_KEY in your .env."
        )
    return f"{call.place} refused the API key. Check OPENAI_API_KEY in your .env."


def _no_such_model(answer: Answer, call: Call) -> Failure | None:
    said = bool(answer.kinds & _MODEL_KINDS)
    if answer.status in (0, 400, 404, 422):
        said = said or answer.mentions(_MODEL)
    # A wrong path is a 404 as well, but doesn't speak of the model.
    said = said or (answer.status == 404 and call.model in answer.text)
    if not said:
        return None
    nearest = difflib.get_close_matches(call.model, call.names(), n=5, cutoff=0.0)
    choice = f"It offers {', '.join(plain(name) for name in nearest)}" if nearest else ""
    remedy = f"{choice}{', among others' if len(nearest) == 5 else ''}." if choice else ""
    return Failure(
        UnknownModel(
            f"{call.place} has no model named {call.model}. "
            f"{remedy or 'Check MODEL_NAME in your .env.'}"
        )
    )


_MODEL_KINDS = frozenset({"model_not_found", "deploymentnotfound", "model_not_exist"})
_MODEL = (
    r"(?i)\bmodel\b.{0,120}?(does not exist|not found|not exist|is not a valid model)"
    r"|(invalid|unknown|no such) model\b|no endpoints found for|is not a valid model"
)


def _by_status(answer: Answer, call: Call) -> Failure:
    status = answer.status
    if 300 <= status < 400:
        where = f" to {answer.redirect}" if answer.redirect else ""
        return Failure(
            ServerFailed(f"{call.address} redirects{where}. Set OPENAI_BASE_URL to where it ends.")
        )
    if status == 403:
        return Failure(
            AuthenticationFailed(
                f"{call.place} does not allow this{answer.quoted}. The key may lack access to "
                f"{call.model}, or your network or region is shut out."
            )
        )
    if status in (404, 405) or answer.mentions(_NO_SUCH_PATH):
        return Failure(
            ServerFailed(f"{call.place} has no chat API here. {wrong_address(call.address)}")
        )
    if status == 429:
        return _rate_limited(answer, call)
    if 400 <= status < 500:
        return Failure(
            RequestRejected(
                f"{call.place} rejected the request ({status}){answer.quoted}. Change the message, "
                "or choose another model."
            ),
            passing=status in (408, 409, 425),
            wait=answer.wait,
        )
    number = f" ({status})" if status else ""
    return Failure(
        ServerFailed(f"{call.place} failed{number}{answer.quoted}. Try again in a while."),
        passing=status != 501,
        wait=answer.wait,
    )


#: LM Studio says so with status 200.
_NO_SUCH_PATH = r"(?i)unexpected endpoint"


def _rate_limited(answer: Answer, call: Call) -> Failure:
    when = "in a while" if answer.wait is None else f"in {_duration(answer.wait)}"
    return Failure(
        RateLimited(f"Too many requests to {call.place} for now. Try again {when}."),
        passing=True,
        wait=answer.wait,
    )


# --- Reading an answer -------------------------------------------------------------------------


def _plain_values(body: object, name: str = "", depth: int = 8) -> Iterator[tuple[str, object]]:
    """Every string and number in a body of any shape, with the name it stands under."""
    if isinstance(body, str | int | float):
        yield name, body
    elif isinstance(body, list) and depth:
        for item in body:
            yield from _plain_values(item, name, depth - 1)
    elif isinstance(body, dict) and depth:
        for inner, value in body.items():
            # FastAPI quotes the request there: the user's own words, not the endpoint's.
            if inner != "input":
                yield from _plain_values(value, str(inner).lower(), depth - 1)


def _words(body: object) -> str:
    """The sentence in an error's body, wherever this endpoint keeps it."""
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(words for item in body[:3] if (words := _words(item)))
    if not isinstance(body, dict):
        return ""
    metadata = body.get("metadata")
    # OpenRouter says "Provider returned error" and keeps the provider's words here.
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        return str(metadata["raw"])
    names = ("message", "msg", "detail", "error", "error_description", "title", "reason")
    return next((words for name in names if (words := _words(body.get(name)))), "")


def _status_among(fields: Sequence[tuple[str, object]]) -> int:
    for name, value in fields:
        if name in ("code", "status") and re.fullmatch(r"[345]\d\d", str(value)):
            return int(str(value))
    return 0


def _named_wait(headers: Any, words: str, fields: Sequence[tuple[str, object]]) -> float | None:
    """Seconds to wait as the endpoint names them: in a header, in the body, in its words."""
    candidates = (
        _number(headers.get("retry-after-ms"), 1000),
        _number(headers.get("retry-after")),
        _until(headers.get("retry-after")),
        *(_spoken(str(value)) for name, value in fields if name == "retrydelay"),
        _spoken(match[1]) if (match := re.search(_TRY_AGAIN, words)) else None,
    )
    return next((seconds for seconds in candidates if seconds is not None), None)


_TRY_AGAIN = r"(?i)(?:try again|retry) (?:in|after) ((?:[\d.]+ ?[a-z]+ ?){1,3})"
_UNITS = {"ms": 0.001, "m": 60.0, "h": 3600.0, "s": 1.0}


def _number(value: str | None, divisor: float = 1) -> float | None:
    try:
        seconds = float(value or "") / divisor
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(value: str | None) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return None


def _spoken(text: str) -> float | None:
    """Seconds of `1m30s`, `7.66s`, `250ms`, `20 seconds`."""
    parts = re.findall(r"(\d+(?:\.\d+)?) ?(ms|h|m(?!s)|s)", text.lower())
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else None


def _duration(seconds: float) -> str:
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{math.ceil(seconds / length)} {unit}s"
    return "a second" if seconds <= 1 else f"{math.ceil(seconds)} seconds"
