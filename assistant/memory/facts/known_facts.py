"""What is known about the user, as every prompt carries it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from assistant.errors import EntryError
from assistant.memory.assembly import Known
from assistant.protocols import FactStore, TokenCounter


class KnownFacts:
    """The facts in force that fit their budget."""

    def __init__(
        self,
        facts: Callable[[], FactStore],
        counter: TokenCounter,
        room: int,
        say: Callable[[str], None],
    ) -> None:
        """`room` is in tokens; `say` is told once when the facts can't be read."""
        self._facts = facts
        self._counter = counter
        self._room = room
        self._say = say
        self._told = ""

    def at(self, moment: datetime) -> Known:
        """What holds at a moment. A turn goes on without it when it can't be read."""
        try:
            facts = self._facts().in_force(moment)
        except EntryError as error:
            if str(error) != self._told:
                self._told = str(error)
                self._say(self._told)
            return Known()
        if not facts:
            return Known()
        # Here: without facts nobody waits for what these import.
        from assistant.memory.facts.fact_text import facts_block
        from assistant.memory.language import language_of

        language = language_of("\n".join(fact.text for fact in facts[:20]))
        block = facts_block(facts, self._counter.count, self._room, language)
        return Known(block.text, block.used, block.left_out)
