"""The turns of a session's log as a tree, and the path through it that is the conversation."""

from __future__ import annotations

from collections.abc import Sequence


class TurnTree:
    """Which turns are the conversation, told record by record as a log is read or written.

    A turn is the child of the one that was the newest when it began. Going back or forth makes
    another one the newest and takes nothing out of the tree. Any numbers in any order are taken:
    a log may hold what it likes.
    """

    def __init__(self) -> None:
        self.newest: int | None = None
        """The last turn of the conversation; None when it is empty."""
        self._parents: dict[int, int | None] = {}
        self._path: set[int] = set()
        self._left: list[int] = []
        """The newest turns that were left by going back, each under the one before it."""

    def say(self, turn: int) -> None:
        """A message of this turn is said; the first one begins it."""
        if turn not in self._parents:
            self._parents[turn] = self.newest
            self.newest = turn
            self._path.add(turn)
            self._left.clear()

    def go_to(self, turn: int) -> None:
        """Make another turn the newest one; 0 leaves none.

        For a turn that is not there it is the last one of the conversation before that number.
        """
        before, self.newest = self.newest, self._found(turn)
        if self.newest == before:
            return
        if before is not None and (self.newest is None or self.newest in self._path):
            self._left.append(before)
        else:
            self._left = [one for one in self._left if self._is_below(one, self.newest)]
        self._follow(before)

    def _follow(self, before: int | None) -> None:
        """Make the path lead to the newest turn, from `before`: as many steps as turns change."""
        meeting, came = self.newest, []
        while meeting is not None and meeting not in self._path:
            came.append(meeting)
            meeting = self._parents[meeting]
        while before is not None and before != meeting:
            self._path.discard(before)
            before = self._parents[before]
        self._path.update(came)

    def _found(self, turn: int) -> int | None:
        if turn == 0 or turn in self._parents:
            return turn or None
        return max((one for one in self._path if one < turn), default=None)

    def _is_below(self, turn: int, above: int | None) -> bool:
        return turn != above and (above is None or above in self.path(turn))

    # --- what it knows --------------------------------------------------------------------------

    def __contains__(self, turn: object) -> bool:
        """Whether there is such a turn, in the conversation or not."""
        return turn in self._parents

    def has(self, turn: int | None) -> bool:
        """Whether a turn is part of the conversation."""
        return turn in self._path

    def path(self, turn: int | None = None) -> Sequence[int]:
        """The turns from the first one to `turn`, or to the newest one."""
        at = self.newest if turn is None else turn
        found: list[int] = []
        while at is not None and at in self._parents:
            found.append(at)
            at = self._parents[at]
        return found[::-1]

    def before(self, turn: int) -> int:
        """The turn that a turn followed; 0 for none."""
        return self._parents.get(turn) or 0

    @property
    def forth(self) -> int | None:
        """The turn that the last going back left; None once a new one was said."""
        return self._left[-1] if self._left else None
