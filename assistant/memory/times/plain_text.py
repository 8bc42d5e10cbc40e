"""A text as patterns of dates read it, and where each of its characters stood."""

from __future__ import annotations

import unicodedata

import msgspec

#: The traditional characters that times are written with, and their simplified ones.
_SIMPLIFIED = str.maketrans(
    "週號個這禮兩後幾過點鐘時從內來間現",
    "周号个这礼两后几过点钟时从内来间现",
)
_QUOTES = str.maketrans("’‘", "''")


class PlainText(msgspec.Struct, frozen=True):
    """`text` in simplified characters, half width, with single spaces; `places` has one number
    more than it has characters: where each began in the original, and where that ends.
    """

    text: str
    places: tuple[int, ...]


def plain_text(text: str) -> PlainText:
    """The plain form of `text`, without spaces at its ends."""
    characters: list[str] = []
    places: list[int] = []
    for place, original in enumerate(text):
        form = unicodedata.normalize("NFKC", original).translate(_SIMPLIFIED).translate(_QUOTES)
        for character in form:
            if character.isspace():
                if not characters or characters[-1] == " ":
                    continue
                character = " "
            characters.append(character)
            places.append(place)
    end = len(text)
    if characters and characters[-1] == " ":
        end = places[-1]
        del characters[-1], places[-1]
    return PlainText("".join(characters), (*places, end))
