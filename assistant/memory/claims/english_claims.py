"""How English claims that something was saved or changed just now."""

from __future__ import annotations

import re

#: Characters around a claim that may take it back.
_NEAR = 150

# --- words --------------------------------------------------------------------------------------

#: Done with what the program keeps, and with hardly anything else.
_KEEPING = (
    r"saved|stored|recorded|booked|reserved|scheduled|rescheduled|cancell?ed|postponed"
    r"|memori[sz]ed|jotted|pencill?ed|logged"
)
#: Done with texts and code, too.
_CHANGING = (
    r"added|moved|shifted|updated|changed|deleted|removed|erased|created|renamed|edited|corrected"
    r"|adjusted|extended"
)
#: Done with anything.
_PLACING = (
    r"put|set|pushed|marked|entered|filed|written|wrote|brought|blocked(?: off| out)?"
    r"|turned (?:off|on)"
)
_DONE = rf"{_KEEPING}|{_CHANGING}|{_PLACING}|noted|remembered"
#: What is said alone: "Saved."
_ALONE = r"saved|booked|scheduled|rescheduled|cancell?ed|recorded|memori[sz]ed|noted|remembered"

_WORD = r"(?: \S{1,40})"

#: What the program keeps.
_KEPT = (
    r"(?:calendars?|schedules?|agendas?|events?(?! (?:listener|handler|loop|bus)s?\b)|meetings?"
    r"|appointments?|reminders?|memos?|notes?(?! that\b)|memory|to-?dos?|alarms?|tasks?"
    r"|entry|entries|bookings?|reservations?|(?:shopping|to-?do|grocery|task|packing) list)\b"
)
#: What is put into a calendar under its own name.
_OCCASION = (
    r"(?:calls?|reviews?|interviews?|check-?ups?|lunch|dinner|breakfast|visits?|dentist|haircut"
    r"|stand-?up|deadlines?|birthdays?|sync|table|occurrences?)\b"
)
_THING = rf"(?:{_KEPT}|{_OCCASION})"
_TIME = re.compile(
    r"\d ?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\b\d{4}-\d\d|\bo['’]clock\b"
    r"|\b(?:noon|midnight|tonight|tomorrow|today)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)\b|\b(?:next|this) (?:week|month|year|morning|afternoon"
    r"|evening)\b|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.? \d"
    r"|\d ?点|[今明后]天|周[一二三四五六日天]",
    re.IGNORECASE,
)
_ADVERB = (
    r"(?:just|now|also|already|successfully|all|both|gone ahead and|went ahead and|duly|then"
    r"|officially|safely|happily)"
)

# --- what claims --------------------------------------------------------------------------------

#: "I have added …", "I just saved …"
_I_DID = re.compile(
    rf"\bI(?P<perfect>['’]ve| have)?(?: {_ADVERB}){{0,3}} "
    rf"(?:(?P<keeping>{_KEEPING}|(?:made|taken|took) (?:a )?note"
    rf"|got (?:it|that|this|everything) (?:{_ALONE}))|(?P<changing>{_CHANGING})|{_PLACING}"
    r"|(?P<noting>noted|remembered))\b",
    re.IGNORECASE,
)
_HAS_BEEN = rf"(?:has|have|['’]s|['’]ve)(?: {_ADVERB})? been"
_BECAME = (
    rf"(?:(?:{_HAS_BEEN}|was|were|(?:is|are)(?: now| all| now all))"
    rf"(?: {_ADVERB})? (?:{_DONE})"
    r"|(?:is|are) (?:saved|added|created|deleted|removed|updated|cancell?ed|rescheduled|noted"
    r"|stored)"
    r"|(?:has|have)(?: now| just)? (?:moved|changed|shifted)(?: from (?:\S{1,40} ){1,4}?| )to)\b"
)
#: "Your meeting with Ann has been moved", "The reminder is set", "The call is now at 4 pm"
_THING_BECAME = re.compile(
    r"(?P<what>\b(?:your|the|this|that|both|all|these|those|an?|new)\b"
    rf"{_WORD}{{0,3}}? {_THING}"
    rf"|^(?:(?!note)\S{{1,40}} ){{0,2}}?(?!note){_THING})(?P<of>(?: [^\s,;]{{1,40}}){{0,8}}?) "
    rf"(?:{_BECAME}|(?P<set>(?:is|are) set\b)|(?:is|are) now (?P<at>at|on|from|for)\b"
    r"|now (?:starts?|begins?|takes? place)\b)",
    re.IGNORECASE,
)
#: "It's now on Friday"
_IT_IS_NOW = re.compile(r"^(?:it|that|this)(?:['’]s| is) now (?P<at>at|on|from|for)\b", re.I)
#: "… has been added to your calendar", "It's now in your memos"
_INTO_KEPT = re.compile(
    rf"\b(?:(?:{_HAS_BEEN}|was|were)(?: {_ADVERB})? (?:{_DONE})|(?:['’]s|is|are) now)"
    rf"{_WORD}{{0,8}}? (?:to|in|on|into|from|off|as) (?:(?:your|the)(?: \w+)?|an?) {_KEPT}",
    re.IGNORECASE,
)
#: "That's been noted", "Your allergy has been saved"
_NOTED = re.compile(
    rf"(?:^(?:it|that|this|everything|they)|\byour{_WORD}{{1,5}}?)"
    rf"(?:(?: has| have|['’]s|['’]ve)(?: {_ADVERB})? been| is| are|['’]s)(?: {_ADVERB})?"
    r" (?:saved|noted|recorded|remembered|stored|memori[sz]ed)\b",
    re.IGNORECASE,
)
#: "Event created: …", "Reminder for Ann set."
_HEADLINE = re.compile(
    rf"^(?P<what>(?:\S{{1,40}} ){{0,3}}?{_THING}{_WORD}{{0,6}}?) (?P<done>{_DONE})\b"
    r"(?=$|\W*$|\W+(?:for|to|on|at|from|in|into|under|as|with|now|successfully|and)\b|[.!✅])",
    re.IGNORECASE,
)
#: "Saved.", "Noted that …", "Added to your calendar"
_BARE = re.compile(
    rf"^(?:successfully )?(?P<done>{_DONE})\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_BARE_REST = re.compile(
    r" ?[.!✅]|(?: down| in)?\W*$| (?:it|that|this|them|everything|both)\b"
    rf"|{_WORD}{{0,6}}? (?:to|in|on|into|from|under|as) (?:your|the|an?|my)(?: \w+)? ?{_KEPT}",
    re.IGNORECASE,
)
_ABOUT = re.compile(r" (?:that|for|to|on|at)\b", re.IGNORECASE)
#: "I'll remember that", "I will remind you at 5"
_PROMISE = re.compile(
    r"\bI(?:['’]ll| will| shall|['’]m going to)(?: (?!not|always)[a-z]{1,20}){0,4}? "
    r"(?:remember(?! when)|remind you(?! (?:that|of)\b)"
    r"|keep (?:that|this|it|your [a-z ]{1,30}) in mind"
    r"|(?:make|take) (?:a )?note|note (?:that|it|this|your)\b|set (?:up )?(?:a|the|your) reminder)",
    re.IGNORECASE,
)

# --- what does not ------------------------------------------------------------------------------

_LEAD_IN = re.compile(
    r"^(?:(?:ok(?:ay)?|sure(?: thing)?|great|perfect|done|got it|alright|all (?:right|set|done)"
    r"|of course|no problem|certainly|absolutely|yes|understood|thanks|thank you|good news|and|so"
    r"|well|there|(?:I can|to|I['’]m happy to|just to) (?:confirm|say|report|tell you)(?: that)?"
    r"|好的?|没问题|收到|嗯|明白了?|搞定)\b[\s,.!:，。！：–—-]*){1,3}",
    re.IGNORECASE,
)
_ONLY_LEAD_IN = re.compile(rf"(?:{_LEAD_IN.pattern})?$", re.IGNORECASE)
_NEGATED = re.compile(
    r"\b(?:not|never|unable|cannot|without|failed|nothing|no|none|neither|nor|would|could|should"
    r"|may|might|can|want|need|if|unless|once|when|whenever|after|before|until|as soon as|whether"
    r"|pretend|suppose|imagine)\b|n['’]t\b",
    re.IGNORECASE,
)
_NONE_FOLLOWS = re.compile(
    r" (?:nothing|no|none|neither|not|you|some|the best|time|money|up)\b", re.IGNORECASE
)
_SAID_BEFORE = re.compile(r" (?:earlier|previously|before|above)\b", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(r"\b(?:but|however|and|so|because|though|although)\b", re.IGNORECASE)
#: Words by which somebody else's doing is told.
_REPORTED = re.compile(
    r"\byou(?:['’]ve| have| had|['’]d| already)\b|\b(?:said|says?|told|tells?|mentioned|according"
    r"|reports?|reported|announced|wrote|writes|shows?|looks? like|seems?|appears?|apparently|see"
    r"|saw|heard|noticed|recall|remember|think|thought|asked|know|fact that)\b",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"\b(?:according to|as per|says?|said)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|once|should you|as soon as|when(?:ever)? you|after you)\b", re.IGNORECASE
)
_PAST_DAY = re.compile(
    r"\byesterday\b(?!['’]s)|\bago\b|\b(?:previously|originally|formerly|back then|at the time)\b"
    r"|\blast (?:week|month|year|night|time|spring|summer|autumn|fall|winter|\w+day)\b(?!['’]s)"
    r"|\b(?:in|since|by|of) (?:early |late )?(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"[a-z]{0,6} )?(?:1[5-9]|20)\d\d\b"
    r"|(?<!hour )(?<!hours )(?<!minutes )(?<!day )(?<!days )(?<!week )\bearlier\b",
    re.IGNORECASE,
)
#: Of a thing done by others: "by the airline", and not "by an hour" or "by Friday".
_BY_OTHERS = re.compile(
    r"\bby (?!me\b|us\b|myself\b|now\b|then\b|noon\b|midnight\b|tomorrow\b|today\b|tonight\b"
    r"|default\b|hand\b|mistake\b|accident\b|\d|(?:an?|one|two|three|four|half|ten|fifteen|twenty"
    r"|thirty|forty-five|several|a few)\b (?:\S+ )?(?:hours?|minutes?|days?|weeks?|months?|half"
    r"|quarter)|the (?:end|weekend|time|way)\b|next\b|this\b|(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)day\b)",
    re.IGNORECASE,
)
#: Of whose doing "I" tells in a subordinate clause: "what I've saved", "the memos I've saved".
_RELATIVE = re.compile(
    r"\b(?:what|which|everything|things?|all|memos?|notes?|events?|facts?|reminders?)(?: that)? ?$"
    r"|[\"“‘「『]$",
    re.IGNORECASE,
)
_OF_TEXTS = re.compile(
    r"\b(?:variable|function|column|array|script|paragraph|sentence|code|class|method|dict"
    r"|dictionary|parameter|argument|import|comment|draft|section|essay|poem|example|version|tone"
    r"|wording|line|word|docstring|formula|step|file|below|above)s?\b",
    re.IGNORECASE,
)
_OF_CODE = re.compile(
    r"\b(?:variable|array|dict|dictionary|column|data ?frame|buffer|cell|tuple)s?\b", re.IGNORECASE
)
_ANOTHER_SUBJECT = re.compile(
    r"\b(?:where|when|while|because|if|since|which|that|who|whose|after|until|is|are|was|were|will"
    r"|can|must|the(?= \S+$))\b",
    re.IGNORECASE,
)
_NO_SUBJECT = re.compile(
    r"\b(?:in|at|during|after|before|from|for|of|since|by|about|with|to|note|on|under) ?$", re.I
)
_NO_HEADLINE = re.compile(
    r"\b(?:you|I|he|she|they|we|have|has|had|there|is|are|was|were|be|been|any|every|each|no|not"
    r"|if|when|most|some|many|all|how|what|which|that|to|will|can|please|should|must)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\b(?:is|are|was|were|will|have|has|had|can|must|may|should)\b", re.I)
_RINGS = re.compile(r"remind|alarm", re.IGNORECASE)
_OWN_THING = re.compile(rf"{_KEPT}|\b(?:your|the){_WORD}{{0,2}}? {_OCCASION}", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?: (?:down|in|up))?(?: (?:it|that|this|them|these|those|everything|both|all)\b|\W*$)",
    re.IGNORECASE,
)


def claims(clause: str, before: str, after: str) -> bool:
    """Whether a clause claims that something was kept or changed just now.

    `before` and `after` are what stands around it in its sentence.
    """
    lead_in = _LEAD_IN.match(clause)
    bare = clause[lead_in.end() :] if lead_in else clause
    return (
        _claims_own_doing(clause, before, after)
        or _claims_of_a_thing(bare, before, after)
        or (_ONLY_LEAD_IN.match(before.strip()) is not None and _is_headline(bare, after))
        or _promises(clause, before)
    )


def _claims_own_doing(clause: str, before: str, after: str) -> bool:
    return any(_is_own_doing(match, before, after) for match in _I_DID.finditer(clause))


def _is_own_doing(match: re.Match[str], before: str, after: str) -> bool:
    lead, rest = _around(match)
    if _denied(lead) or _RELATIVE.search(lead) or _NONE_FOLLOWS.match(rest):
        return False
    # "I've saved the notes of last week" is of now, "I saved them last week" is not.
    past = _SAID_BEFORE.match(rest) if match["perfect"] else _PAST_DAY.search(before + lead + rest)
    if past:
        return False
    if match["noting"]:
        return bool(match["perfect"] or _PRONOUN.match(rest))
    if match["keeping"]:
        return not _OF_CODE.search(rest)
    return _is_kept(rest, after[:60], pronoun=bool(match["changing"]))


def _is_kept(rest: str, after: str, *, pronoun: bool) -> bool:
    """Whether what was added or moved is something that the program keeps.

    With `pronoun` "it" is taken for such a thing where no text is named.
    """
    if _OWN_THING.search(rest):
        return True
    if _OF_TEXTS.search(rest) or _OF_TEXTS.search(after):
        return False
    return bool((pronoun and _PRONOUN.match(rest)) or _TIME.search(rest) or _TIME.search(after))


def _claims_of_a_thing(clause: str, before: str, after: str) -> bool:
    if _PAST_DAY.search(before + clause + after):
        return False
    return any(
        _is_done_by_us(match, before, after)
        for pattern in (_THING_BECAME, _INTO_KEPT, _NOTED, _IT_IS_NOW)
        for match in pattern.finditer(clause)
    )


def _is_done_by_us(match: re.Match[str], before: str, after: str) -> bool:
    lead, rest = _around(match)
    named = match.groupdict()
    if _reported(lead, before) or _BY_OTHERS.search(rest) or _SOURCE.search(rest + after):
        return False
    if _RELATIVE.search(lead) or _NEGATED.search(match.group()):
        return False
    if named.get("of") is not None and (
        _NO_SUBJECT.search(lead) or _ANOTHER_SUBJECT.search(named["of"])
    ):
        return False
    # "Your appointment is set for Monday" tells what the calendar says.
    if named.get("set") and not _RINGS.search(named["what"]):
        return False
    return not named.get("at") or _TIME.search(rest[:30]) is not None


def _is_headline(clause: str, after: str) -> bool:
    match = _HEADLINE.match(clause)
    if match and not _NO_HEADLINE.search(match["what"]):
        rest = clause[match.end() :]
        return not (_FINITE.search(rest) or _PAST_DAY.search(rest) or _BY_OTHERS.search(rest))
    match = _BARE.match(clause)
    if not match or _BY_OTHERS.match(match["rest"].strip()) or _PAST_DAY.search(match["rest"]):
        return False
    done, rest = match["done"].lower(), match["rest"]
    if _ABOUT.match(rest) and (done == "noted" or _TIME.search(rest)):
        return True
    if rest.strip():
        return _BARE_REST.match(rest) is not None
    # One word without a full stop is a heading as often.
    return re.fullmatch(_ALONE, done) is not None or (
        done in ("added", "moved") and _TIME.search(after) is not None
    )


def _promises(clause: str, before: str) -> bool:
    match = _PROMISE.search(clause)
    if match is None or _RELATIVE.search(clause[: match.start()]):
        return False
    return not (
        _CONDITION.search(before) or _CONDITION.search(clause) or _denied(clause[: match.start()])
    )


def _around(match: re.Match[str]) -> tuple[str, str]:
    """What stands before and behind a match in its clause, as far as it may bear on it."""
    start, end = match.span()
    return match.string[max(0, start - _NEAR) : start], match.string[end : end + _NEAR]


def _denied(lead: str) -> bool:
    """Whether what stands before a verb in its own clause takes it back."""
    return _NEGATED.search(_OTHER_CLAUSE.split(lead)[-1]) is not None


def _reported(lead: str, before: str) -> bool:
    return _denied(lead) or bool(
        _REPORTED.search(lead) or _REPORTED.search(before) or _CONDITION.search(before)
    )
