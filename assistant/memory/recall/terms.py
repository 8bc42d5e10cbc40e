"""The words keyword search goes by, made the same way for what was said and for what is asked.

Milvus is given these terms instead of the text, because its own analyzers differ between its
embedded form and its servers and none finds a word in Chinese. Each term is one alphanumeric run
in lower case, which every one of them leaves as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

#: A longer run of letters and digits is no word: only its beginning is kept.
LONGEST_TERM = 64

# Function words say how a sentence is built, not what it is about; ca and wo are left of can't and
# won't.
STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both
    but by can could did do does doing down during each few for from further had has have having
    he her here hers herself him himself his how i if in into is it its itself just may me might
    more most must my myself no nor not now of off on once only or other our ours ourselves out
    over own same shall she should so some such than that the their theirs them themselves then
    there these they this those through to too under until up us very was we were what when where
    which while who whom whose why will with would you your yours yourself yourselves
    ca wo
    """.split()
)
STOP_CHARACTERS = frozenset(
    "的了是在我你您他她它们这那哪有和与及也就都而着或吗呢吧啊呀哦嗯么之其被把给对从到很太"
    "什谁怎个些还又再曾过会能可以要想得地为于"
)
_STOP_PAIR = re.compile("多少|时候")

# Forms that no suffix rule leads back to the word a question uses: "did I buy it", "I bought it".
_IRREGULAR = {
    form: base
    for base, *forms in map(
        str.split,
        """
        become became, begin began begun, bite bit bitten, blow blew blown, break broke broken,
        bring brought, build built, buy bought, catch caught, choose chose chosen, come came,
        draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen,
        feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten,
        freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown,
        hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led,
        leave left, lend lent, lose lost, make made, mean meant, meet met, pay paid,
        ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen,
        sell sold, send sent, shake shook shaken, shine shone, shoot shot, show shown,
        sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent, stand stood,
        steal stole stolen, stick stuck, swim swam swum, take took taken, teach taught,
        tear tore torn, tell told, think thought, throw threw thrown, understand understood,
        wake woke woken, wear wore worn, win won, write wrote written, child children,
        person people, man men, woman women, foot feet, tooth teeth, wife wives
        """.split(","),
    )
    for form in forms
}

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_UNSPACED = _HAN + _KANA + _HANGUL

_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_CONTRACTION = re.compile(r"(?<=[^\W\d_])(?:n't|'(?:s|re|ve|ll|d|m))(?![^\W_])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# A word; or a code, which is words and numbers joined by single marks; or a run of characters
# that are written without spaces between words.
_WORD = re.compile(rf"[^\W_{_UNSPACED}]+(?:[-./_][^\W_{_UNSPACED}]+)*|[{_UNSPACED}]+")
_RUN = re.compile(r"[^\W_]+")
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")


def terms(text: str) -> list[str]:
    """The terms of a text in their order, repeated as often as they stand there.

    English words are stemmed, and function words left out; Chinese comes as characters and pairs
    of neighbours, Japanese and Korean as pairs; a code such as PX-4471 as a whole and in its
    parts. Any string is taken, in time linear in its length.
    """
    found: list[str] = []
    for match in _WORD.finditer(_folded(text)):
        word = match.group()
        found += _characters_and_pairs(word) if _UNSPACED_RUN.match(word) else _word_terms(word)
    return found


def other_forms(term: str) -> list[str]:
    """Irregular forms of a word whose term this is: texts may have any of them."""
    return _forms().get(term, [])


@cache
def _forms() -> Mapping[str, list[str]]:
    """Term → irregular forms. Stemming all of them takes a while: it is done once."""
    forms: dict[str, list[str]] = {}
    for past, base in _IRREGULAR.items():
        for term in set(_stemmed(base)):
            forms.setdefault(term, []).append(past)
    return forms


def _folded(text: str) -> str:
    """In lower case, without accents, compatibility forms replaced, 1,000 as 1000."""
    if not text.isascii():
        text = text.replace("\u2019", "'")
        apart = unicodedata.normalize("NFKD", text)
        # The Japanese voicing marks make other letters, not accented ones.
        text = "".join(c for c in apart if unicodedata.category(c)[0] != "M" or c in "\u3099\u309a")
        text = unicodedata.normalize("NFC", text)
    return _THOUSANDS.sub("", _CONTRACTION.sub(" ", text.casefold().lower()))


def _word_terms(word: str) -> tuple[str, ...]:
    # Long words are kept out of the cache, so that its size stays bounded.
    return _cached_terms(word) if len(word) <= LONGEST_TERM else tuple(_parts(word))


@lru_cache(maxsize=1 << 16)
def _cached_terms(word: str) -> tuple[str, ...]:
    return tuple(_parts(word))


def _parts(word: str) -> Iterator[str]:
    if word.isalpha():
        yield from _stemmed(word)
        return
    runs = _RUN.findall(word)
    if len(runs) > 1 and re.search(r"\d", word) and re.search(r"[^\W\d_]", word):
        yield "".join(runs)[:LONGEST_TERM]
    for run in runs:
        yield from _stemmed(run) if run.isalpha() else _numbered(run)


def _stemmed(word: str) -> Iterator[str]:
    if word not in STOP_WORDS:
        word = _IRREGULAR.get(word, word)[:LONGEST_TERM]
        yield str(EnglishStemmer().stemWord(word)) if word.isascii() else word


def _numbered(run: str) -> Iterator[str]:
    """A run with digits in it: 20th is 20, iphone15 is iphone and 15 too."""
    if ordinal := _ORDINAL.fullmatch(run):
        yield ordinal.group(1)[:LONGEST_TERM]
        return
    yield run[:LONGEST_TERM]
    parts = _LETTERS_OR_DIGITS.findall(run)
    if len(parts) > 1:
        yield from (part[:LONGEST_TERM] for part in parts)


def _characters_and_pairs(run: str) -> list[str]:
    found: list[str] = []
    previous = ""
    for character in _STOP_PAIR.sub(" ", run):
        if character in STOP_CHARACTERS or not character.isalnum():
            previous = ""
            continue
        if previous:
            found.append(previous + character)
        if _HAN_CHARACTER.match(character) or len(run) == 1:
            found.append(character)
        previous = character
    return found
