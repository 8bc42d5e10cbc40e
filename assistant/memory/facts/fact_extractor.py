"""Facts found in conversations, each checked against the user's own words.

A model proposes, and so does the wording where it leaves no doubt ("I live in …"), as a small model
overlooks much. A rule decides: what the user did not say in their own words, what is a question, a
request of the moment or a secret, and what would mix people up is never kept.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, get_args

import msgspec

from assistant.errors import ChatModelError, WrongEntry
from assistant.memory.facts.fact_rules import (
    Statement,
    is_negative,
    kind_of,
    lasting_clauses,
    names_its_subject,
    owners,
    plain_wording,
    replaces,
    retraction_of,
    statement,
)
from assistant.memory.facts.facts import Facts
from assistant.memory.facts.secret_text import secret_in
from assistant.memory.language import language_of
from assistant.memory.recall.terms import terms
from assistant.messages import Exchange, Fact, FactKind, Language, Message
from assistant.protocols import ChatModel, FactProposal, TokenCounter, Written

#: A longer piece of conversation at once makes models leave more of it out.
PIECE_TOKENS = 1_200
LEAST_PIECE = 200
REPLY_TOKENS = 300
#: Known facts that are shown with a piece.
KNOWN_SHOWN = 8
#: Turns at once, unless it is told otherwise.
TOGETHER = 8
#: Characters of a question of the assistant's, which is only there to say what the user answers.
CONTEXT_LENGTH = 200
#: What is between the parts of a request, and its roles.
REQUEST_OVERHEAD = 40


class Extraction(msgspec.Struct, frozen=True):
    """What came of looking at a session."""

    kept: tuple[Written[Fact], ...] = ()
    pending: tuple[FactProposal, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Lines of the model that were not believed, and why."""
    stopped: bool = False
    """It gave way before the end: the next look goes on from there."""


class ProposedLine(msgspec.Struct, frozen=True):
    """One line of the model's answer."""

    verb: Literal["ADD", "UPDATE", "END"]
    text: str = ""
    kind: FactKind | None = None
    fact_id: str = ""


class FactExtractor:
    """Looks for facts with a model of its own connection, so that it can be stopped.

    One session at a time: the caller sees to that.
    """

    def __init__(
        self,
        open_model: Callable[[], ChatModel],
        facts: Facts,
        counter: TokenCounter,
        prompts: Mapping[Language, str],
        *,
        window: Callable[[], int],
        together: int = TOGETHER,
        approve: bool = False,
    ) -> None:
        """`window` gives the model's window in tokens as `counter` counts them.

        `together`: turns it is asked about at once; a small model overlooks less in a single one.
        `approve`: what is found waits for the user's word.
        """
        self._open_model = open_model
        self._facts = facts
        self._counter = counter
        self._prompts = prompts
        self._window = window
        self._together = together
        self._approve = approve
        self._model: ChatModel | None = None
        self._stopping = threading.Event()

    def extract(
        self,
        session: str,
        exchanges: Sequence[Exchange],
        *,
        still_said: Callable[[Exchange], bool] = lambda exchange: True,
    ) -> Extraction:
        """Look at the exchanges of a session that were not looked at yet, oldest first.

        `still_said` tells whether one was erased or taken back since: nothing is learnt from that.
        Raises ChatModelError when the model gives no reply, and EntryError when nothing can be
        saved. What was not looked at then is looked at the next time.
        """
        done = self._facts.extracted(session)
        found = _Findings()
        new = sorted((one for one in exchanges if one.turn > done), key=lambda one: one.turn)
        try:
            for piece in self._pieces(new):
                if self._stopping.is_set():
                    return found.all(stopped=True)
                if piece.parts:
                    known = self._known(piece)
                    reply = self._reply(piece, known)
                    if not all(still_said(part.exchange) for part in piece.parts):
                        return found.all(stopped=True)
                    for line in proposed_lines(reply):
                        self._take(line, piece, known, found)
                    self._take_worded(piece, known, found)
                if piece.ends:
                    self._facts.looked_at(session, piece.ends)
        except ChatModelError:
            if self._stopping.is_set():
                return found.all(stopped=True)
            raise
        finally:
            self._close()
        return found.all(stopped=False)

    def stop(self) -> None:
        """End the look that is under way, from any thread, or the next, until `ready` is called."""
        self._stopping.set()
        model = self._model
        if model is not None:
            model.close()

    def ready(self) -> None:
        """Forget that the last one was stopped."""
        self._stopping.clear()

    # --- asking ---------------------------------------------------------------------------------

    def _pieces(self, exchanges: Sequence[Exchange]) -> Iterator[_Piece]:
        """The exchanges in pieces that fit the model's window; a long message in several."""
        if not exchanges:
            return
        count = self._counter.count
        prompts = max(count(prompt) for prompt in self._prompts.values())
        room = self._window() - prompts - REPLY_TOKENS - REQUEST_OVERHEAD
        # A quarter of what is left is for known facts.
        room = max(LEAST_PIECE, min(PIECE_TOKENS, room * 3 // 4))
        parts: list[_Part] = []
        ends, left = 0, room
        asked = ""
        for exchange in exchanges:
            texts = list(_cut(own_words(exchange.user), room, count))
            for number, text in enumerate(texts, 1):
                part = _Part(exchange, text, asked)
                size = count(part.text) + count(part.asked) + 10
                if parts and (size > left or len(parts) >= self._together):
                    yield _Piece(tuple(parts), ends)
                    parts, left, ends = [], room, 0
                parts.append(part)
                left -= size
                if number < len(texts):
                    yield _Piece(tuple(parts), ends)
                    parts, left, ends = [], room, 0
            ends, asked = exchange.turn, _question_at_end(exchange.assistant)
        yield _Piece(tuple(parts), ends)

    def _known(self, piece: _Piece) -> Sequence[Fact]:
        """The facts in force that are nearest to a piece."""
        said = "\n".join(part.text for part in piece.parts)
        moment = piece.parts[-1].exchange.ts or self._facts.now()
        near = self._facts.near(said, 3 * KNOWN_SHOWN)
        return [fact for fact in near if fact.holds(moment)][:KNOWN_SHOWN]

    def _reply(self, piece: _Piece, known: Sequence[Fact]) -> str:
        if self._model is None:
            self._model = self._open_model()
        language = language_of("\n".join(part.text for part in piece.parts))
        messages = (
            Message(role="system", content=self._prompts[language]),
            Message(role="user", content=_request(piece, known, language)),
        )
        texts = []
        for part in self._model.stream(messages, max_tokens=REPLY_TOKENS):
            texts.append(part.text)
        return "".join(texts)

    def _close(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            model.close()

    # --- deciding -------------------------------------------------------------------------------

    def _take(
        self, line: ProposedLine, piece: _Piece, known: Sequence[Fact], found: _Findings
    ) -> None:
        named = next((fact for fact in known if fact.id == line.fact_id), None)
        exchanges = [part.exchange for part in piece.parts]
        text = whole_clause(_first_person(line.text), exchanges)
        if line.verb == "END" or (named is not None and _only_ends(text, named)):
            self._take_end(line, piece, named, found)
            return
        source, why_not = grounds(text, exchanges)
        if source is None:
            found.refused.append((line.text, why_not))
            return
        said = source.ts or self._facts.now()
        kind = kind_of(text)
        if kind == "other" and line.kind is not None and line.kind != "rule":
            kind = line.kind
        old = named if named is not None and _may_replace(text, said, named) else None
        found.said.append((source.id, statement(text)))
        try:
            self._keep(text, kind, said, source.id, old, found)
        except WrongEntry as error:
            found.refused.append((line.text, str(error)))

    def _take_worded(self, piece: _Piece, known: Sequence[Fact], found: _Findings) -> None:
        """What the wording alone says, where the model has not said it."""
        for part in piece.parts:
            for clause in lasting_clauses(part.text):
                stated = statement(clause)
                if any(
                    turn == part.exchange.id and said.slots & stated.slots
                    for turn, said in found.said
                ):
                    continue
                over = [fact for fact in known if stated.retracts and self._ends(stated, fact)]
                for fact in over:
                    if not self._ended(fact.id):
                        self._take_end(ProposedLine("END", fact_id=fact.id), piece, fact, found)
                said_anew = not stated.retracts or kind_of(clause) == "preference"
                if said_anew and grounds(clause, [part.exchange])[0] is not None:
                    self._take(ProposedLine("ADD", clause), piece, known, found)

    def _ends(self, stated: Statement, fact: Fact) -> bool:
        return fact.kind != "preference" and replaces(stated, statement(fact.text))

    def _take_end(
        self, line: ProposedLine, piece: _Piece, fact: Fact | None, found: _Findings
    ) -> None:
        if fact is None:
            found.refused.append((f"END {line.fact_id}", "no such fact was shown"))
            return
        source = next(
            (
                part.exchange
                for part in piece.parts
                for sentence in _sentences(own_words(part.exchange.user))
                if retraction_of(sentence, fact.text)
            ),
            None,
        )
        if source is None or (said := source.ts or self._facts.now()) < fact.said:
            found.refused.append((f"END {fact.id}", "the user did not say that it ended"))
        elif self._approve:
            self._propose(fact.text, fact.kind, said, source.id, found, ends=fact.id)
        elif not self._ended(fact.id):
            found.kept.append(self._facts.forget(fact.id, at=said))

    def _ended(self, fact_id: str) -> bool:
        return self._facts.get(fact_id).valid_until is not None

    def _keep(
        self,
        text: str,
        kind: FactKind,
        said: datetime,
        source: str,
        old: Fact | None,
        found: _Findings,
    ) -> None:
        replaced = old.id if old is not None and not self._ended(old.id) else None
        if self._approve:
            self._propose(text, kind, said, source, found, replaces=replaced)
            return
        written = self._facts.remember(text, kind, said=said, source=source, replaces=replaced)
        if written.before is not written.after:
            found.kept.append(written)

    def _propose(
        self,
        text: str,
        kind: FactKind,
        said: datetime,
        source: str,
        found: _Findings,
        *,
        replaces: str | None = None,
        ends: str | None = None,
    ) -> None:
        proposal = self._facts.propose(
            text, kind, said=said, source=source, replaces=replaces, ends=ends
        )
        if proposal is not None:
            found.pending.append(proposal)


# --- pieces of a conversation -------------------------------------------------------------------


class _Part(msgspec.Struct, frozen=True):
    """What the user said in one turn, or a part of it."""

    exchange: Exchange
    text: str
    asked: str
    """What the assistant had asked before it; empty when it had not."""


class _Piece(msgspec.Struct, frozen=True):
    parts: tuple[_Part, ...]
    ends: int
    """The last turn that is whole with this piece; 0 for none."""


class _Findings:
    """What a look has found so far."""

    def __init__(self) -> None:
        self.kept: list[Written[Fact]] = []
        self.pending: list[FactProposal] = []
        self.refused: list[tuple[str, str]] = []
        self.said: list[tuple[str, Statement]] = []
        """Turn and what was found in it."""

    def all(self, *, stopped: bool) -> Extraction:
        return Extraction(tuple(self.kept), tuple(self.pending), tuple(self.refused), stopped)


def own_words(text: str) -> str:
    """What the user says, without what they paste or quote: code, quoted lines, long quotations."""
    return _QUOTATION.sub(" ", _QUOTED_LINE.sub("", _FENCED.sub("\n", text))).strip()


_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_QUOTATION = re.compile(
    r'"[^"\n]{20,2000}"|“[^”\n]{20,2000}”|「[^」\n]{8,2000}」|“[^”a-z\n]{8,2000}”'
)


def _question_at_end(reply: str) -> str:
    sentences = _sentences(reply[-4 * CONTEXT_LENGTH :])
    last = sentences[-1] if sentences else ""
    return last if last.endswith(("?", "？")) and len(last) <= CONTEXT_LENGTH else ""


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> Iterator[str]:
    while text:
        length = len(text)
        while length > 1 and count(text[:length]) > tokens:
            length //= 2
        yield text[:length]
        text = text[length:]


def _request(piece: _Piece, known: Sequence[Fact], language: Language) -> str:
    heading, user, asked = _LABELS[language]
    lines = [heading, *(f"{fact.id}: {fact.text}" for fact in known)] if known else []
    for part in piece.parts:
        if part.asked:
            lines.append(asked.format(part.asked))
        lines.append(f"{user}{part.text}")
    return "\n".join(lines)


_LABELS: dict[Language, tuple[str, str, str]] = {
    "en": ("Known facts:", "User: ", "(The assistant had asked: {})"),
    "zh": ("已知的事实：", "用户：", "（助手刚才问：{}）"),
}


# --- what the model writes ----------------------------------------------------------------------

_LINE = re.compile(
    r"^[\s\-*•\d.)]*(?P<verb>ADD|UPDATE|END)\b[\s:：]*(?:<?(?P<id>f[a-z]+)\b>?)?\s*(?P<rest>.*)$",
    re.IGNORECASE,
)


def proposed_lines(reply: str) -> list[ProposedLine]:
    """What of a reply is a proposal; each other line means nothing. Each is given once."""
    found: dict[ProposedLine, None] = {}
    for line in reply.splitlines():
        match = _LINE.match(line.replace("｜", "|").replace("**", "").replace("`", ""))
        if match is None:
            continue
        verb, fact_id = match["verb"].upper(), (match["id"] or "").casefold()
        fields = [field.strip() for field in match["rest"].split("|")]
        fields = [field for field in fields if field]
        kind: FactKind | None = None
        if fields and fields[0].casefold() in get_args(FactKind):
            kind = msgspec.convert(fields.pop(0).casefold(), FactKind)
        text = max(fields, key=len, default="")
        if verb == "END" and fact_id:
            found[ProposedLine("END", fact_id=fact_id)] = None
        elif verb != "END" and text and "…" not in line:
            update = verb == "UPDATE" and fact_id
            found[ProposedLine("UPDATE" if update else "ADD", text, kind, fact_id)] = None
    return list(found)


def _first_person(text: str) -> str:
    text = text.strip().strip('"“”')
    return plain_wording(text) if _THIRD_PERSON.match(text) else text


_THIRD_PERSON = re.compile(r"(?:the )?user\b|用户", re.IGNORECASE)


# --- whether the user said so -------------------------------------------------------------------

#: Words a model may put in, as they only say what sort of thing it is.
_FRAME = frozenset(
    "user like love prefer hate dislik enjoy name call live work want use alway never now answer "
    "birthday allerg job know current like lives have speak".split()
)
_FRAME_CHARACTERS = frozenset("我你住叫喜欢讨厌爱名字工作用户请一直以后现是有不别最更")
_OF_THE_MOMENT = re.compile(
    r"\b(?:asks?|asked|asking|requests?|requested|wants? (?:to know|help|an? |the |some )"
    r"|is looking for|looking for|needs? (?:help|to know)|wonder(?:s|ed|ing)?|inquir\w+"
    r"|curious|i want you to (?!always|never))\b"
    r"|想知道|询问|请求|请教|需要帮助|想要(?:一个|知道)|提问",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|thanks|please|so|and|then)[, ]+)*"
    r"(?:(?:can|could|would|will) you\b|(?:help|show|give|tell|find|write|book"
    r"|translate|explain|summari[sz]e|recommend|suggest|list|make|draft|check|look|search|remind|plan|compare|what|how|why|where|when|who|which|is|are"
    r"|schedule|add|put|set|cancel|move|block|arrange"
    r"|do|does|did|should|shall)\b)"
    r"|^(?:请|麻烦)?(?:帮|给我|替我|告诉我|推荐|翻译|解释|写|查|总结|提醒)|^(?:能不能|可以|怎么|为什么|什么|哪)"
    r"|[吗呢么]$"
    # With the time before it; what somebody has done for me is no request.
    r"|[帮给替]我(?:安排|预?订|预约|约|加|记|设|改|取消|标|建)(?!.{0,4}[了过])|提醒我(?!.{0,4}[了过])",
    re.IGNORECASE,
)
_MAYBE = re.compile(
    r"\bif i\b|\bmaybe\b|\bperhaps\b|\bmight\b|\bthinking (?:of|about)\b|\bconsidering\b"
    r"|\bimagine\b|如果|可能|也许|考虑|要是|假如|或许|想象",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b|我|咱|本人", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:her|his|she|he|their|they|its|it)\b|[他她它]", re.IGNORECASE)
_RELATIVE_SPOKEN_OF = re.compile(
    r"\b(?:my|our) (?:\w+ )?(?=(?:sister|brother|mother|mom|mum|father|dad|son|daughter|child|kid"
    r"|aunt|uncle|cousin|niece|nephew|grand\w+|wife|husband|partner|girlfriend|boyfriend|friend"
    r"|colleague|neighbou?r|boss|flatmate|roommate)\b)"
    r"|我的?(?=妈妈|爸爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|儿子|女儿|孩子|妻子|老婆|太太|丈夫|老公|女朋友"
    r"|男朋友|朋友|同事|邻居|室友|奶奶|爷爷|外婆|外公|姑姑|叔叔|舅舅|阿姨)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|St|Prof)\.|\.(?=[^\s.])|[^.!?。！？\n；;])+[.!?。！？；;]*"
)
_CLAUSE = re.compile(r"[^，,]+?(?:[，,]|\b(?:and|but)\b|但是?|而且|$)", re.IGNORECASE)
#: Of other words than names and numbers, so many may be the model's own.
OWN_SHARE = 0.8


def grounds(text: str, exchanges: Sequence[Exchange]) -> tuple[Exchange | None, str]:
    """The exchange in which the user said so, the newest that does; without one, why not."""
    if secret_in(text):
        return None, "it holds a secret"
    if text.rstrip().endswith(("?", "？", "吗")) or _OF_THE_MOMENT.search(text):
        return None, "it is a question or a request of the moment"
    if not names_its_subject(text):
        return None, "it does not say of whom or what it is"
    why_not = "the user did not say that"
    for exchange in reversed(exchanges):
        own = own_words(exchange.user)
        if not _holds_words(text, own):
            continue
        why_not = _why_not(text, own)
        if not why_not:
            return exchange, ""
    return None, why_not


def whole_clause(text: str, exchanges: Sequence[Exchange]) -> str:
    """For a mere phrase the clause in which the user said it; else the text itself.

    A small model gives "Siemens" for "I work at Siemens".
    """
    if _FIRST_PERSON.search(text) or owners(plain_wording(text)) or kind_of(text) != "other":
        return text
    for exchange in reversed(exchanges):
        own = own_words(exchange.user)
        if text and _holds_words(text, own):
            for clause in lasting_clauses(own):
                if _holds_words(text, clause):
                    return clause
    return text


def _why_not(text: str, own: str) -> str:
    """Why what the user said, though it has the words, does not say this; empty if it does."""
    sentence, clause, before = _where_said(text, own)
    if _is_of_a_secret(text, sentence):
        return "it holds a secret"
    asked = clause.rstrip(" ，,").endswith(("?", "？")) or _REQUEST.search(
        clause.strip(" ，,。.!！")
    )
    standing = kind_of(clause) == "rule" or kind_of(sentence) == "rule"
    if asked and not standing:
        return "it is a question or a request of the moment"
    if kind_of(text) == "rule" and not standing:
        return "the user asked for it once, not for good"
    if _turns_round(text, clause, sentence):
        return "the user said the opposite"
    if _MAYBE.search(sentence) and kind_of(text) != "rule":
        return "the user only thought about it"
    return "" if _same_people(text, sentence, clause, before) or standing else "it is of others"


def _turns_round(text: str, clause: str, sentence: str) -> bool:
    """Whether a text denies what was affirmed, or affirms what was denied."""
    denies = is_negative(text)
    if denies == is_negative(clause):
        return False
    # A text that takes in more than the clause may deny what stands beside it.
    more = set(terms(text)) - set(terms(clause))
    beside = bool(more) and more <= set(terms(sentence))
    return not (beside and denies == is_negative(sentence))


def _is_of_a_secret(text: str, sentence: str) -> bool:
    """Whether a text is, or has a part of, what stands as a secret in a sentence."""
    parts = [part for part in _CLAUSE.findall(sentence) if secret_in(part)]
    if not parts and secret_in(sentence):
        parts = [sentence]
    words = set(terms(text)) - _FRAME
    return any(words & set(terms(part)) for part in parts)


def _same_people(text: str, sentence: str, clause: str, before: str) -> bool:
    about = owners(plain_wording(text))
    if about:
        unnamed = about - owners(plain_wording(clause))
        if unnamed and _PRONOUN.search(clause):
            # Her birthday: of whom the sentence, or the one before it, speaks.
            around = f"{before} {sentence}".casefold()
            return all(one in around for one in unnamed)
        return not unnamed
    own_slots = {one for one in statement(text).slots if not one.startswith(_OPEN_SLOTS)}
    if not own_slots <= statement(sentence).slots | statement(clause).slots:
        return False
    spoken = _RELATIVE_SPOKEN_OF.sub(" ", sentence)
    of_the_user = not _FIRST_PERSON.search(text) or _FIRST_PERSON.search(spoken)
    return bool(of_the_user) and not owners(plain_wording(clause))


#: Slots that are made of the words said, which need not be the model's.
_OPEN_SLOTS = ("says ", "taste ", "prefer ", "allergic ")


def _where_said(text: str, own: str) -> tuple[str, str, str]:
    """The sentence, and the clause in it, that have most of a text's words; and what was before."""
    wanted = set(terms(text))
    best = (-1, -1)
    found = ("", "", "")
    before = ""
    for sentence in _sentences(own):
        in_sentence = len(wanted & set(terms(sentence)))
        for clause in _CLAUSE.findall(sentence):
            score = (len(wanted & set(terms(clause))), in_sentence)
            if score > best:
                best, found = score, (sentence, clause, before)
        before = sentence
    return found


def _sentences(text: str) -> list[str]:
    return [one.strip() for one in _SENTENCE.findall(text) if one.strip()]


def _holds_words(text: str, own: str) -> bool:
    """Whether the user's words hold a text's: all names and numbers, and most of the others."""
    said = set(terms(plain_wording(own)))
    wanted = [one for one in terms(plain_wording(text)) if one not in _FRAME]
    wanted = [one for one in wanted if one.isascii() or not set(one) <= _FRAME_CHARACTERS]
    if not wanted:
        return False
    sure = set(terms(" ".join(_NAME_OR_NUMBER.findall(plain_wording(text))))) - _FRAME
    missing = [one for one in wanted if one not in said]
    # A pair that bridges a word put in or left out is no word of its own.
    missing = [one for one in missing if one.isascii() or not (set(one) <= said)]
    return not sure & set(missing) and len(missing) <= (1 - OWN_SHARE) * len(wanted)


_NAME_OR_NUMBER = re.compile(r"(?<!^)\b[A-Z][^\W\d_]+|[^\s，。]*\d[^\s，。]*")


def _only_ends(text: str, old: Fact) -> bool:
    """Whether an update says no more than that the fact is over; of a taste it says the taste."""
    return kind_of(text) != "preference" and retraction_of(text, old.text)


def _may_replace(text: str, said: datetime, old: Fact) -> bool:
    return old.said <= said and replaces(statement(text), statement(old.text), told=True)
