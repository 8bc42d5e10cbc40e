"""The calls of one turn: what may run, what the user is asked first, and when it is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from assistant.errors import EntryError
from assistant.messages import ToolCall
from assistant.protocols import Change
from assistant.tools.registry import BadCall, Proposal, ToolRegistry, ToolResult

#: When the user is asked before a call: for changes, for every call, or never. Where text that the
#: user did not type stands in the prompt, a change is asked about all the same: it may be why.
ConfirmPolicy: TypeAlias = Literal["changes", "never", "always"]

#: Asks the user a question; False is no, and also what a program answers that can't ask.
Confirm: TypeAlias = Callable[[str], bool]

#: Failures of one and the same call, after which no more are taken.
MOST_FAILURES = 3

REFUSED = "The user said no. Nothing was changed."


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
        self._failures: Counter[tuple[str, str]] = Counter()
        self._begun = 0
        self.changes: list[Change] = []
        """What was written."""

    @property
    def may_call(self) -> bool:
        """Whether the model may ask for tools once more."""
        stuck = any(times >= MOST_FAILURES for times in self._failures.values())
        return self._begun < self._limits.max_rounds and not stuck

    def begin_round(self) -> None:
        self._begun += 1

    def begin(self, call: ToolCall, *, told_by_others: bool) -> Callable[[], str]:
        """Look up what a call asks for, or ask the user; what it gives then makes the change.

        That is short and must not be interrupted; its text is the result for the model.
        `told_by_others`: text that the user did not type stands in the prompt.
        """
        try:
            begun = self._asked(call, told_by_others)
        except BadCall as error:
            return self._failed(call, str(error))
        if isinstance(begun, ToolResult):
            text = begun.text
            return lambda: text
        proposal = begun
        return lambda: self._carried_out(call, proposal)

    def _asked(self, call: ToolCall, told_by_others: bool) -> ToolResult | Proposal:
        """Raises BadCall."""
        changes = self._registry.get(call.name).changes
        if changes and self._private:
            raise BadCall(
                f"{call.name} was not run: this conversation is private, and nothing of it is kept."
            )
        if self._limits.confirm == "always" and not changes:
            question = f"Let the assistant look something up ({call.name} {call.arguments})?"
            if not self._confirm(question):
                return ToolResult(REFUSED)
        begun = self._registry.begin(call, self._source)
        if isinstance(begun, Proposal):
            ask = self._limits.confirm != "never" or told_by_others
            if ask and not self._confirm(begun.question):
                return ToolResult(REFUSED)
        return begun

    def _carried_out(self, call: ToolCall, proposal: Proposal) -> str:
        try:
            result = proposal.carry_out()
        except EntryError as error:
            return self._failed(call, f"{call.name} changed nothing: {error}")()
        if result.change is not None:
            self.changes.append(result.change)
        return result.text

    def _failed(self, call: ToolCall, text: str) -> Callable[[], str]:
        self._failures[call.name, call.arguments] += 1
        return lambda: text
