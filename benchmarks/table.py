"""Measurements as aligned text: rows of figures, and aims that are met or missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """A figure and the bound it should keep to. `figure` None: it could not be measured."""

    text: str
    figure: float | None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return "not measured"
        low = self.at_least is None or self.figure >= self.at_least
        high = self.at_most is None or self.figure <= self.at_most
        return "met" if low and high else "MISSED"

    def __str__(self) -> str:
        figure = "" if self.figure is None else f": {self.figure:,.2f}"
        return f"{self.verdict:<12}  {self.text}{figure}"


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under their heads: the first column to the left, figures to the right."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name = cells[0].ljust(widths[0])
    figures = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "  ".join([name, *figures]).rstrip()
