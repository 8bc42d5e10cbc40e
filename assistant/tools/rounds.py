"""The calls of one turn: what may run, what the user is asked first, and when it is enough."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from assistant.errors import EntryError
from assistant.messages import ToolCall, one_line
from assistant.protocols import Change
from assistant.tools.registry import BadCall, Proposal, ToolRegistry, ToolResult

log = logging.getLogger(__name__)

#: When the user is asked before a call: for changes, for every call, or never. Where text that the
#: user did not type stands in the prompt, a change is asked about all the same: it may be why.
ConfirmPolicy: TypeAlias = Literal["changes", "never", "always"]

#: Asks the user a question; False is no, and also what a program answers that can't ask.
Confirm: TypeAlias = Callable[[str], bool]

#: Failures of one and the same call, after which no more are taken.
MOST_FAILURES = 3

#: Calls in one reply that are looked at; more is a model that has lost its way.
MOST_CALLS = 20

#: Characters of a question to the user.
QUESTION_LENGTH = 600

REFUSED = "The user said no. Nothing was changed. Answer in words."


def decline(question: str) -> bool:
    """The answer where nobody can be asked."""
    return False


class ToolLimits(msgspec.Struct, frozen=True):
    """How far a model may go with tools in one turn."""

    max_rounds: int = 8
    """Replies with calls; then it must answer with what it has."""
    max_result_tokens: int = 1_000
    """Of one result, as the model gets it."""
    confirm: ConfirmPolicy = "changes"


class Outcome(msgspec.Struct, frozen=True):
    """What a call came to."""

    text: str
    """For the model."""
    change: Change | None = None
    """What was written."""
    stands: str = ""
    """What was so already, where nothing had to be written."""
    failure: str = ""
    """For the user: why a change that was tried was not made."""


class ToolRounds:
    """Runs the calls of one turn, and keeps count."""

    def __init__(
        self,
        registry: ToolRegistry,
        limits: ToolLimits,
        confirm: Confirm,
        *,
        source: str,
        private: bool = False,
    ) -> None:
        """`source` is the turn, `<session>.<turn>`: what is made keeps it.

        Of a `private` conversation nothing is kept: no call changes anything.
        """
        self._registry = registry
        self._limits = limits
        self._confirm = confirm
        self._source = source
        self._private = private
        self._failures: Counter[_Key] = Counter()
        self._answered: dict[_Key, str] = {}
        """Changing calls that need not run again: refused by the user, or done."""
        self._rounds = 0
        self._calls = 0
        self._repeats = False
        """Whether the model asked again for what was refused or done: it has lost its way."""
        self.changes: list[Change] = []
        """What was written."""
        self.failures: list[str] = []
        """Why changes were not made, for the user."""

    @property
    def may_call(self) -> bool:
        """Whether the model may ask for tools once more."""
        failed = any(times >= MOST_FAILURES for times in self._failures.values())
        stuck = failed or self._repeats
        return self._rounds < self._limits.max_rounds and not stuck

    def begin_round(self) -> None:
        self._rounds += 1
        self._calls = 0

    def begin(self, call: ToolCall, *, told_by_others: bool) -> Callable[[], Outcome]:
        """Look up what a call asks for, or ask the user; what it gives then makes the change.

        That is short and must not be interrupted. `told_by_others`: text that the user did not
        type stands in the prompt.
        """
        key = _key(call)
        self._calls += 1
        try:
            if self._calls > MOST_CALLS:
                raise BadCall(f"{call.name} was not run: a reply may have {MOST_CALLS} calls.")
            if self._failures[key] >= MOST_FAILURES:
                raise BadCall(f"{call.name} was not run again: it failed {MOST_FAILURES} times.")
            if key in self._answered:
                self._repeats = True
                return _told(Outcome(self._answered[key]))
            begun = self._asked(call, key, told_by_others)
        except BadCall as error:
            self._failures[key] += 1
            return _told(Outcome(str(error)))
        except Exception as error:
            log.exception("The tool %s failed", call.name)
            return _told(self._fault(call, error))
        if isinstance(begun, ToolResult):
            return _told(Outcome(begun.text))
        proposal = begun
        return lambda: self._carried_out(call, key, proposal)

    def _asked(self, call: ToolCall, key: _Key, told_by_others: bool) -> ToolResult | Proposal:
        """Raises BadCall."""
        changes = self._registry.get(call.name).changes
        if changes and self._private:
            raise BadCall(
                f"{call.name} was not run: this conversation is private, and nothing of it is kept."
            )
        if self._limits.confirm == "always" and not changes:
            question = f"Let the assistant look something up: {call.name} {call.arguments}?"
            if not self._confirm(one_line(question)):
                return ToolResult(REFUSED)
        begun = self._registry.begin(call, self._source)
        if isinstance(begun, ToolResult):
            return begun
        if self._limits.confirm == "never" and not told_by_others and not begun.always_asks:
            return begun
        if not self._confirm(one_line(begun.question, QUESTION_LENGTH)):
            self._answered[key] = REFUSED
            return ToolResult(REFUSED)
        return self._still_meant(call, begun)

    def _still_meant(self, call: ToolCall, agreed: Proposal) -> Proposal:
        """What was agreed to, prepared anew: another terminal may have been quicker.

        Raises BadCall when the entry is another one by now.
        """
        now = self._registry.begin(call, self._source)
        assert isinstance(now, Proposal)
        if now.about != agreed.about:
            raise BadCall(
                f"{call.name} was not run: what it is about was changed while the user was asked. "
                "Look it up again."
            )
        return now

    def _carried_out(self, call: ToolCall, key: _Key, proposal: Proposal) -> Outcome:
        try:
            result = proposal.carry_out()
        except EntryError as error:
            self._failures[key] += 1
            self.failures.append(f"Not done ({call.name}): {error}")
            return Outcome(f"{call.name} changed nothing: {error}", failure=self.failures[-1])
        except Exception as error:
            log.exception("The tool %s failed", call.name)
            return self._fault(call, error)
        self._answered[key] = f"Done already in this turn. {result.text}"
        if result.change is not None:
            self.changes.append(result.change)
        return Outcome(result.text, result.change, result.stands)

    def _fault(self, call: ToolCall, error: Exception) -> Outcome:
        """A bug in a tool costs its call and no more."""
        self.failures.append(
            f"{call.name} failed inside the program (a bug: {type(error).__name__}). It is not "
            "known whether it was done; the log file in data/logs has the details."
        )
        return Outcome(self.failures[-1], failure=self.failures[-1])


_Key: TypeAlias = tuple[str, str]


def _key(call: ToolCall) -> _Key:
    """The same for calls that say the same, however they are spaced."""
    try:
        arguments = msgspec.json.encode(msgspec.json.decode(call.arguments), order="sorted")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return call.name, call.arguments
    return call.name, arguments.decode()


def _told(outcome: Outcome) -> Callable[[], Outcome]:
    return lambda: outcome
