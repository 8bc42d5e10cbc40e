"""What a text about the user states, told by its wording: its kind, its subject, what it replaces.

English and Chinese. Two facts are on the same thing only where the wording leaves no doubt: one
that is ended by mistake is lost, while of two that contradict each other the newer stands first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import msgspec

from assistant.memory.recall.terms import terms
from assistant.messages import FactKind

#: Characters of a clause that is taken for a fact as it stands.
LONGEST_CLAUSE = 120


class Statement(msgspec.Struct, frozen=True):
    """What decides whether two texts are on the same thing."""

    slots: frozenset[str]
    """What it says something on, one a clause at least: `my phone number`, `live`."""
    loose: frozenset[str]
    """The same where only words such as "now" tell a new value from another thing."""
    says: str
    """Its content words in order, without those that affirm, deny or correct."""
    bare: str
    """The same without the names it gives and how often or when."""
    content: frozenset[str]
    """Its content words that are not only the frame of a sentence."""
    owners: frozenset[str]
    """The people it names as those it is about, beside the user."""
    named: frozenset[str]
    """The names it gives: Rex, of "a dog called Rex"."""
    retracts: bool
    """Says that something is so no more."""
    corrects: bool
    """Has words that take a value back: now, actually, 改成."""
    strongly: bool
    """Has words that do nothing else: actually, I meant, 更正."""
    adds: bool
    """Says that it comes on top of something: also, 也."""


def statement(text: str) -> Statement:
    """What a text states. Any text is taken."""
    plain = plain_wording(text)
    adds = bool(_ADDS.search(plain))
    retracts = bool(_RETRACTS.search(plain))
    slots: set[str] = set()
    loose: set[str] = set()
    for clause in _CLAUSE_END.split(plain):
        if not (clause := clause.strip(" ,，;；。.!！")):
            continue
        bare = _bare(_PASSING.sub(" ", clause))
        firm = [] if adds else list(_firm_slots(bare))
        if retracts:
            # "I no longer live in Berlin" says nothing of living in Munich.
            firm = [slot for slot in firm if slot.startswith(_NAMING_ITS_THING)]
        said = _says(clause)
        slots.update(firm or ([f"says {said}"] if said else []))
        if not firm and not adds and not retracts:
            loose.update(_loose_slots(bare))
    words = terms(_bare(_AFFIRMS.sub(" ", plain)))
    return Statement(
        slots=frozenset(slots),
        loose=frozenset(loose),
        says=_says(plain),
        bare=_says(_DETAILS.sub(" ", plain)),
        content=frozenset(_content(words)),
        owners=owners(plain),
        named=frozenset(name.casefold() for name in _NAMED.findall(plain)),
        retracts=retracts,
        corrects=bool(_CORRECTS.search(plain)),
        strongly=bool(_STRONGLY.search(plain)),
        adds=adds,
    )


def replaces(newer: Statement, older: Statement, *, told: bool = False) -> bool:
    """Whether what was said later takes the place of what was said earlier.

    `told`: somebody said that it does, and only what can't be is refused.
    """
    if newer.owners != older.owners or newer.adds:
        return False
    if newer.retracts or older.retracts:
        over, other = (newer, older) if newer.retracts else (older, newer)
        # Of all days or of none: what is over on Mondays may go on on Tuesdays.
        if over.says and over.says in (other.says, other.bare):
            return True
        return bool(older.slots) and older.slots <= newer.slots
    if older.slots and older.slots <= newer.slots:
        return True
    told = told or newer.strongly
    if (told or newer.corrects) and len(older.slots) == 1 and newer.loose & older.loose:
        return True
    if not told or (newer.named and older.named and newer.named != older.named):
        return False
    if any(not slot.startswith("says ") for slot in older.slots - newer.slots):
        # "Robert" is no new value of a name just because both have the word.
        return False
    shared = newer.content & older.content
    return bool(shared) and 2 * len(shared) >= min(len(newer.content), len(older.content))


def lasting_clauses(text: str) -> list[str]:
    """What of a text says something lasting of the user, or ends it, by its wording alone.

    "I live in Berlin", "I no longer eat meat", 请叫我小王; each clause as it stands there.
    """
    found: dict[str, None] = {}
    for clause in _CLAUSE_END.split(text):
        for part in (clause, *re.split("[,，]", clause)):
            plain = plain_wording(part)
            if not 3 <= len(plain) <= LONGEST_CLAUSE or re.search("[,，]", plain):
                continue
            stated = statement(part)
            firm = any(not slot.startswith("says ") for slot in stated.slots)
            lasting = firm or stated.retracts or _RULE.search(plain) or _gives_attribute(part)
            if lasting and not _POINTING.search(plain):
                found[_BEGINNING.sub("", part).strip(" ,，.。!！")] = None
    return list(found)


def names_its_subject(text: str) -> bool:
    """Whether a text says of whom or what it is, so that it can be read without what was before."""
    plain = plain_wording(text)
    if _POINTING_SUBJECT.match(plain):
        return False
    thing = _ATTRIBUTE.match(plain) or _CHINESE_ATTRIBUTE.match(plain)
    return bool(_OF_THE_USER.search(plain) or thing or owners(plain)) or kind_of(text) == "rule"


def retraction_of(sentence: str, fact: str) -> bool:
    """Whether a sentence says that a fact holds no more, in whichever further words."""
    said, known = statement(sentence), statement(fact)
    denies = said.retracts or bool(_NEGATION.search(plain_wording(sentence)))
    if not denies or said.owners != known.owners or not known.content:
        return False
    shared = said.content & known.content
    return bool(shared) and 2 * len(shared) >= min(len(said.content), len(known.content))


def is_negative(text: str) -> bool:
    """Whether a text denies something."""
    return bool(_NEGATION.search(plain_wording(text)))


def same_words(text: str) -> str:
    """What is equal for texts that are the same but for spaces, case, marks and our dates."""
    plain = unicodedata.normalize("NFKC", OUR_DATE.sub("", text)).casefold()
    return " ".join(re.findall(r"[^\W_]+(?:[-.@/:+#'][^\W_]+)*", plain))


def kind_of(text: str) -> FactKind:
    """What sort of fact a text is, by its wording."""
    # Here, as its patterns take long to compile.
    from assistant.memory.facts.statements import statement_in

    plain = plain_wording(text)
    stated = statement_in(plain, "user")
    # 我特别爱看书 has 别 in it and asks for nothing.
    asked_for = stated and stated[0] == "rule" and not re.match("我(?!要你|希望你)", plain)
    if _RULE.search(plain) or asked_for:
        return "rule"
    if _FAVOURITE.search(plain):
        return "preference"
    if _ABOUT.search(plain):
        return "about"
    if _TASTE_WORD.search(plain) or (stated and stated[0] == "preference"):
        return "preference"
    if (stated and stated[0] in ("about", "negation")) or _ATTRIBUTE.match(plain):
        return "about"
    return "about" if _CHINESE_ATTRIBUTE.match(plain) else "other"


def plain_wording(text: str) -> str:
    """The text in the first person, without contractions and dates in brackets, on one line."""
    plain = unicodedata.normalize("NFKC", OUR_DATE.sub("", text)).replace("’", "'")
    plain = " ".join(plain.split())
    for pattern, said in _FIRST_PERSON:
        plain = pattern.sub(said, plain)
    return plain.strip(" .。!！")


def owners(text: str) -> frozenset[str]:
    """The people a text is about, beside the user: `anna`, `sister`, 妈妈."""
    found = {name.casefold() for name in _POSSESSIVE.findall(text)} - _NO_OWNER
    found.update(word.casefold() for word in _RELATIVE.findall(text))
    found.update(name.casefold() for name in _RELATIVE_NAME.findall(text))
    if subject := _SUBJECT_NAME.match(text):
        found.add(subject[1].casefold())
    if subject := _CHINESE_SUBJECT.match(text):
        found.add(subject[1])
    return frozenset(found)


def asked_slots(question: str) -> frozenset[str]:
    """What a question asks for that a fact need not say in the same words: where I live, my job."""
    return frozenset(
        slot for pattern, slots in _ASKED if pattern.search(question) for slot in slots
    )


def asks_for_before(question: str) -> bool:
    """Whether a question is about then, without naming a day: "before", 以前.

    "Before" and "earlier" do so in the past only: "call me before noon" asks for nothing.
    """
    return bool(
        _FORMERLY.search(question) or (_BEFORE.search(question) and _WENT_BY.search(question))
    )


_FORMERLY = re.compile(
    r"(?<!\bam )(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )(?<!'m )\bused to\b|\bdid\b.* use to\b"
    r"|\b(?:previous(?:ly)?|formerly|former|in the past|back then|originally|at first)\b"
    r"|以前|从前|曾经|当时|那时|原来(?!如此)|过去(?![一二两三四五六七八九十几\d])"
    r"|上一[个份]|上个(?!月|周|星期|礼拜)|(?:^|[我你，,。])之前|之前(?=[是说住用喜叫的在])",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\bbefore(?! (?:noon|lunch|dinner|breakfast|midnight|the|\d))\b|\bearlier\b"
    r"|\bonce\b(?! (?:a|per|every|more|you)\b)",
    re.IGNORECASE,
)
_WENT_BY = re.compile(r"\b(?:did|was|were|had|\w+ed)\b", re.IGNORECASE)
_ASKED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), slots)
    for pattern, slots in (
        (
            r"\bwhere\b.*\b(?:i|my|me)\b.*\b(?:live|living|lived|home|move|moved|based)\b"
            r"|\bmy (?:address|city|town|home)\b|我.{0,6}(?:住|搬)|我家在",
            ("live", "my address"),
        ),
        (
            r"\bmy (?:job|work|profession|occupation|employer|company|career)\b"
            r"|\bi (?:\w+ )?work(?:ed|ing)?\b|\bi do for a living\b|\bi employed\b"
            r"|我.{0,8}(?:工作|职业|上班|公司)|我是做什么",
            ("my job", "my employer"),
        ),
        (
            r"\bmy name\b|\bi called\b|\bcall me\b|我.{0,3}(?:叫什么|名字|称呼)",
            ("my name", "call me"),
        ),
        (r"\bmy age\b|\bhow old am i\b|我.{0,3}(?:多大|几岁|年龄)", ("my age",)),
        (r"\bmy (?:phone|mobile|number)\b|我.{0,3}(?:电话|手机|号码)", ("my phone number",)),
        (r"\bmy birthday\b|我.{0,3}生日", ("my birthday",)),
        (r"\b(?:which|what) language\b|用什么语言", ("language",)),
    )
)


# --- the words ----------------------------------------------------------------------------------

OUR_DATE = re.compile(r"\s?\(\d{4}(?:-\d\d(?:-\d\d)?)?(?: to \d{4}-\d\d-\d\d)?\)")
_FIRST_PERSON: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), said)
    for pattern, said in (
        (r"\b(?:the )?user's\b", "my"),
        (r"^(?:the )?user(?= (?!name\b|id\b))", "I"),
        (
            r"^I (live|work|prefer|like|love|hate|dislike|enjoy|want|speak|eat|drink|own|need|use"
            r"|drive|play)s\b",
            r"I \1",
        ),
        (r"^I has\b", "I have"),
        (r"^I is\b", "I am"),
        (r"\bi'm\b", "I am"),
        (r"\b(i|we|they)'ve\b", r"\1 have"),
        (r"\bfavorite\b", "favourite"),
        (r"\bi'd\b", "I would"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(do|does|did|is|are|was|has|have|would|should)n't\b", r"\1 not"),
        (r"\bany more\b", "anymore"),
        (r"用户的", "我的"),
        (r"用户", "我"),
        (r"[您你]", "你"),
    )
)
_CLAUSE_END = re.compile(
    r"[;；。!！]|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)\.\s"
    r"|[,，:：]\s*(?:and |but |so )?(?=(?:i|my|we|our|please|always|never|the \w+(?: \w+)? is)\b)"
    r"|\b(?:and|but) (?=(?:i|my|we|our|live|work|like|love|prefer|hate|have|am|speak|own|play"
    r"|study|drive|eat|drink)\b)|[,，](?=我|而且|但|也|还|并)",
    re.IGNORECASE,
)
# Words that change nothing about what is spoken of.
_PASSING = re.compile(
    r"\b(?:right now|now|currently|actually|really|just|already|nowadays|these days|instead|today"
    r"|recently|finally|oh|well|yes|no(?! longer)|sorry|correction|so|by the way|please note"
    r"|from now on|as of (?:now|today))\b[,:]?"
    r"|现在|目前|已经|刚刚|刚|其实|真的|最近|如今|今天|对了|更正[：:]?|不对[，,]?|说错了[，,]?",
    re.IGNORECASE,
)
_AFFIRMS = re.compile(
    r"\bno longer\b|"
    + _PASSING.pattern
    + r"|\b(?:not|never|always|anymore|any longer|used to|stopped|quit"
    r"|please|again|still|do|does|did)\b"
    r"|不再|再也|不要|不用|不|没有?|别|永远|以后|今后|都|请|一直|总是|始终|从前|以前|曾经|戒|还是|很|非常|特别",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no longer|not|never|no|none|without|neither|nor|stopped|quit|gave up|hate|dislike"
    r"|used to)\b|不(?!错|仅|但|过)|没(?!关系)|别(?!人|的)|讨厌|戒|从前|以前",
    re.IGNORECASE,
)
_RETRACTS = re.compile(
    r"\bno longer\b|\bnot\b[^,.;]{0,60}\b(?:anymore|any longer)\b|\bnever\b[^,.;]{0,40}\banymore\b"
    r"|\bused to\b|\b(?:stopped|quit)\b"
    r"|不再|再也不|不[^，。；]{1,12}了$|戒[^，。；]{0,6}了|以前|从前|曾经",
    re.IGNORECASE,
)
_STRONGLY = re.compile(
    r"\bactually\b|\bcorrection\b|\bi (?:meant|misspoke)\b|\bi was wrong\b|\binstead\b"
    r"|\b(?:has |have )?changed (?:to|my)\b|\bswitched (?:to|from)\b"
    r"|更正|说错|改成|改为|换成|改用|变成|其实",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    _STRONGLY.pattern + r"|\bnow\b|\bnowadays\b|\bthese days\b|\bnew\b|现在|如今|新的",
    re.IGNORECASE,
)
_ADDS = re.compile(
    r"\b(?:also|as well|another|in addition|besides|additionally)\b|\btoo$"
    r"|(?<!再)也(?!许)|另外|另一|还(?!是|没|款|钱)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?:\b(?:called|named)\s|名叫|叫做?(?!我))\s*([^\W\d_]+)", re.IGNORECASE)
_DETAILS = re.compile(
    r",? (?:called|named|whose name is) [^\W\d_]+|[，,]?(?:名叫|叫做?(?!我)).{1,6}$"
    r"|\b(?:on|every|each) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:every|each|in the) (?:other )?(?:day|week|month|morning|evening|night|afternoon)s?\b"
    r"|\b(?:once|twice|(?:two|three|four|five|\d) times) (?:a|per) (?:day|week|month|year)\b"
    r"|每[天日周月年](?:[一二三四五六日天])?(?:早上|晚上|下午|中午)?",
    re.IGNORECASE,
)
_FRAME = frozenset(
    "like love prefer hate dislik enjoy have want use need work live name call go get make take "
    "user eat drink 喜欢 讨厌 觉得 希望 使用".split()
)

# --- people -------------------------------------------------------------------------------------

_RELATIONS = (
    "sister|brother|mother|mom|mum|father|dad|son|daughter|child|kid|aunt|uncle|cousin|niece"
    "|nephew|grandmother|grandma|grandfather|grandpa|wife|husband|partner|girlfriend|boyfriend"
    "|friend|colleague|neighbou?r|boss|flatmate|roommate|dog|cat|puppy|kitten|horse|parrot"
)
_CHINESE_RELATIONS = (
    "妈妈|爸爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|儿子|女儿|孩子|妻子|老婆|太太|丈夫|老公|女朋友|男朋友"
    "|朋友|同事|邻居|室友|奶奶|爷爷|外婆|外公|姑姑|叔叔|舅舅|阿姨"
)
#: Of whom one may have several.
_SEVERAL = re.compile(
    r"\b(?:sister|brother|son|daughter|child|kid|aunt|uncle|cousin|niece|nephew|friend|colleague"
    r"|neighbou?r|flatmate|roommate|dog|cat|puppy|kitten|horse|parrot)\b"
    r"|姐姐|妹妹|哥哥|弟弟|儿子|女儿|孩子|朋友|同事|邻居|室友|姑姑|叔叔|舅舅|阿姨|狗|猫",
    re.IGNORECASE,
)
_RELATIVE = re.compile(rf"\b(?:{_RELATIONS})(?='s\b|\b)|{_CHINESE_RELATIONS}", re.IGNORECASE)
_RELATIVE_NAME = re.compile(rf"\b(?i:{_RELATIONS}) ([A-Z][^\W\d_]+)")
_POSSESSIVE = re.compile(r"\b([^\W\d_]+)'s\b")
_NO_OWNER = frozenset({"it", "that", "what", "let", "he", "she", "there", "who", "here", "today"})
_SUBJECT_NAME = re.compile(
    r"(?!I\b|My\b|We\b|Our\b|The\b|It\b|This\b|That\b|There\b|Always\b|Never\b|Please\b)"
    r"([A-Z][^\W\d_]+) (?:is|was|has|had|lives|works|likes|loves|hates|prefers|moved|will|plays"
    r"|speaks|studies|eats|drinks|can|does|goes|wants|turns|got|married)\b"
)
# --- what is spoken of --------------------------------------------------------------------------

_LANGUAGE = (
    "english|german|french|spanish|italian|chinese|mandarin|japanese|korean|russian|portuguese"
    "|dutch|polish|turkish|arabic|hindi|swedish|danish|norwegian|finnish|greek|czech|ukrainian"
)
_CHINESE_LANGUAGE = (
    "中文|英文|英语|汉语|普通话|德语|德文|法语|法文|日语|日文|韩语|西班牙语|俄语|意大利语"
)
_OCCUPATIONS = (
    "nurse|doctor|surgeon|dentist|vet|pharmacist|teacher|professor|lecturer|student|pupil|lawyer"
    "|judge|accountant|auditor|banker|economist|engineer|developer|programmer|designer|architect"
    "|scientist|researcher|physicist|chemist|biologist|mathematician|analyst|consultant|manager"
    "|director|journalist|editor|translator|interpreter|librarian|photographer|musician|pianist"
    "|actor|actress|chef|cook|baker|waiter|waitress|bartender|plumber|electrician|carpenter"
    "|mechanic|gardener|farmer|driver|pilot|electrician|firefighter|paramedic|policeman|soldier"
    "|secretary|receptionist|salesman|hairdresser|tailor|therapist|psychologist|physiotherapist"
    "|midwife|social worker|civil servant|freelancer|pensioner|retiree|intern|apprentice"
)
_CHINESE_OCCUPATION = (
    "(?:工程|设计|律|厨|教|会计|咨询|摄影|建筑|药剂|理发|心理咨询|程序设计)师|老师|医生|护士|教授|学生"
    "|程序员|公务员|演员|售货员|服务员|飞行员|研究员|销售员|经理|司机|记者|会计|作家|翻译|警察|农民"
    "|编辑|导演|歌手|画家|科学家|自由职业者"
)
#: Of which a person has one at a time.
_SINGLE = (
    "number|address|e-?mail|birthday|birth ?date|date of birth|name|nickname|username|surname|size"
    "|code|job|title|job title|profession|occupation|employer|company|age|height|weight|blood type"
    "|time ?zone|currency|salary|rent|budget|deadline|anniversary|wedding day|plate|gate|seat|desk"
    "|office|room|bank|insurer|doctor|dentist|gp|vet|boss|manager|wife|husband|partner|girlfriend"
    "|boyfriend|landlord|landlady|lawyer|accountant|home ?town|nationality|mother tongue"
    "|diet|bedtime|lunch ?time|gym|flight|iban|website|handle|star sign|ring ?tone"
)
#: Of which one says how they are as often as who or what: "my job is stressful", "my boss is ill".
_ALSO_DESCRIBED = re.compile(
    r"\b(?:job|employer|company|salary|rent|budget|gate|seat|desk|office|room|bank|insurer|doctor"
    r"|dentist|gp|vet|boss|manager|wife|husband|partner|girlfriend|boyfriend|landlord|landlady"
    r"|lawyer|accountant|diet|gym|flight|website)(?: (?:in|at|for|of|on) [\w' -]+)?$",
    re.IGNORECASE,
)
_CHINESE_SINGLE = (
    "号码|手机号?|电话(?:号码)?|地址|生日|名字|姓名|小名|昵称|邮箱|尺码|鞋码|年龄|身高|体重|血型"
    "|工作|职业|职位|老板|上司|经理|公司|单位|医生|牙医|房东|房租|工资|预算|截止日期|纪念日|车牌号?"
    "|座位|工位|办公室|房间号?|银行|妻子|老婆|太太|丈夫|老公|女朋友|男朋友|老家|国籍|母语|微信号?"
    "|时区|航班|网站"
)
_CHINESE_SUBJECT = re.compile(
    r"(?!我|你|请|以后|今后|永远|现在|每|在|公司|从)([^\W\d_]{2,3}?)"
    rf"(?:的(?={_CHINESE_SINGLE})|住在?|喜欢|讨厌|搬到|在(?=.{{1,8}}工作)|对(?=.{{1,8}}过敏))"
)
_ATTRIBUTE = re.compile(
    r"(?:(?:since|after|due to|because of|as of|i think|you know)\b[^,.:]{0,40}? )?"
    r"(?P<thing>(?:my|our|the|[^\W\d_]+'s)(?: (?!my\b)[\w'-]+){1,6}?)"
    r"(?: (?:is|are|has changed to|changed to|falls on|has become|will be)|\s?[:=])"
    r"(?! (?:not|also)\b) ?(?P<value>.+)",
    re.IGNORECASE,
)
_SINGLE_LAST = re.compile(
    rf"(?:^|[ '])(?:{_SINGLE})(?: (?:in|at|for|of|on) [\w' -]+)?$", re.IGNORECASE
)
_FAVOURITE = re.compile(r"\bfavou?rite\b|最(?:喜欢|爱)", re.IGNORECASE)
_CHINESE_ATTRIBUTE = re.compile(
    r"(?P<thing>[^，。是]{1,14}?)(?:是|改成了?|改为|换成了?|变成了?|[：:])(?P<value>(?!一?个|很|在)[^的不].*)"
)
_CHINESE_SINGLE_LAST = re.compile(rf"(?:{_CHINESE_SINGLE})$")
_NEW = re.compile(r"\b(?:new|current|correct|present)\b ?|新的?|现在的?|的")

_I = r"\b(?:i|we)(?: (?:have|am|will be|would))?"
_FIRM: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), slot)
    for pattern, slot in (
        (r"\bi am called (?!to|by|up)|^我叫(?!你|他|她|做)", "my name"),
        (r"\b(?:call|address) me (?!at|on|back|when|if|in|up|a\b)|\bi go by\b", "call me"),
        (r"(?:^|[请都就后，,])(?:叫|称呼)我(?!起床|一声)", "call me"),
        (
            rf"{_I} (?:live|living|moved|relocated|based|reside)(?: back)? (?:in|to)"
            r"(?! (?:an?|the)\b)(?! \d)",
            "live",
        ),
        (rf"{_I} (?:live|living|moved|relocated|reside) (?:at|to|in) (?:no\. ?)?\d", "my address"),
        (
            r"我们?(?:去年|今年|上个?月|才|后来|是)?(?:住在?|搬(?:家)?到了?|搬去了?|定居在?|移居)(?!得|的|校|院|进)",
            "live",
        ),
        (
            rf"{_I} (?:work|working|started(?: work| working| a (?:new )?job)?)"
            r"(?: (?:full|part)[ -]time)? (?:at|for)\b",
            "my employer",
        ),
        (rf"{_I} work(?:ing)? as an? [^,.]{{1,40}} (?:at|for) ", "my employer"),
        (rf"{_I} work(?:ing)? as\b", "my job"),
        (rf"\bi am an? (?:\w+ )?(?:{_OCCUPATIONS})\b", "my job"),
        (rf"^我(?:是|当|做)了?(?:一?[名位个])?[^，。]{{0,6}}?(?:{_CHINESE_OCCUPATION})", "my job"),
        (
            r"我在(?!家|(?:北京|上海|广州|深圳|杭州|成都|南京|武汉|西安|重庆|天津|苏州)(?:工作|上班))"
            r"[^，。]{1,12}?(?:工作|上班|任职)",
            "my employer",
        ),
        (r"\bi was born (?:in|on)\b", "born"),
        (r"\bi am \d{1,3}(?: years old)?$|^我今?年?\d{1,3}岁", "my age"),
        (
            r"\bi am (?:single|married|divorced|engaged|widowed)\b|^我(?:结婚|离婚|单身|订婚)",
            "marriage",
        ),
        (r"\bi am (?:an? )?(?:strict )?(?:vegan|vegetarian|pescatarian)\b|^我吃素", "my diet"),
        (
            r"\b(?:answer|reply|respond|speak|write|talk)(?: to me| me)?(?: only)? in "
            rf"(?:{_LANGUAGE})\b",
            "language",
        ),
        (rf"用(?:{_CHINESE_LANGUAGE})(?:来)?(?:回答|回复|交流|跟我|和我|聊|说)", "language"),
    )
)
_TASTE = re.compile(
    r"\bi (?:do |would |can |am |really |absolutely |still |very much )*(?:not |never |no longer )?"
    r"(?:like|love|enjoy|hate|dislike|adore|stand|fond of|a fan of|into) (?P<object>[^,.]{1,80})"
    r"|我(?:不|很|最|非常|特别|超|挺|比较|太|还是|一直|都)*(?:喜欢|爱(?!人|好)|讨厌|热爱|受不了)(?P<cn>[^，。]{1,30})",
    re.IGNORECASE,
)
_TASTE_WORD = re.compile(
    r"\bi(?: \w+)? (?:like|love|enjoy|hate|dislike|adore|prefer|would rather|stand)\b"
    r"|\bi can not stand\b"
    r"|喜欢|爱[吃喝看听玩]|讨厌|偏好|偏爱|宁愿|更愿意|受不了",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    r"^\s*(?:(?:and|but|so|well|also)\b|但是?|而且|另外)[,，]?\s*", re.IGNORECASE
)
_OF_THE_USER = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b|我|咱", re.IGNORECASE)
_POINTING_SUBJECT = re.compile(
    r"(?:it|this|that|they|these|those|he|she|there|his|her)\b|[他她它这那]", re.IGNORECASE
)
# What points at something just said is of the moment: "I like your idea".
_POINTING = re.compile(
    r"\b(?:like|love|enjoy|hate|dislike|prefer) (?:your|this|that|these|those|it|them|to|how|when"
    r"|what|the (?:first|second|third|last|idea|one|other|sound|look))\b"
    r"|(?:喜欢|爱|讨厌|受不了)(?:你|这|那|它|第)",
    re.IGNORECASE,
)
_ALLERGIC = re.compile(
    r"\bi am (?:not )?allergic to (?P<object>[^,.]{1,60})|我(?:不)?对(?P<cn>[^，。]{1,12}?)不?过敏",
    re.I,
)
_PREFER = re.compile(
    r"\bi (?:would )?(?:prefer|rather have|rather take) (?P<first>[^,.]{1,60}?)"
    r"(?: (?:to|over|rather than|instead of) (?P<second>[^,.]{1,60}?))?"
    r"(?: (?P<where>(?:on|in|at|for|when|during|with) [^,.]{1,60}))?(?: (?:because|since) .*)?$"
    r"|我(?:更喜欢|更爱|宁愿|偏爱|更愿意)(?P<cn>[^，。]{1,20}?)(?:(?:而)?不是(?P<cn2>[^，。]{1,20}))?$",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"^(?:please |(?:can|could|would|will) you (?:please )?)?(?:always|never)\b(?! mind\b)"
    r"|\bfrom now on\b|\b(?:call|address) me (?!at|on|back|when|if)"
    r"|^(?:please )?(?:do not|stop) (?:ever |use|using|call|calling|send|suggest|recommend|ask)"
    r"|以后都|以后请|今后|永远(?:不要|别|用|请)|请一直|一直用|请总是|从现在起|从今以后"
    r"|(?:^|[请都])(?:叫|称呼)我",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\bmy (?:\w+ )?name is\b|\bi am called\b|allerg|\bborn\b|birthday|\b(?:i|we) live\b"
    rf"|\bi work\b|\bmy (?:{_RELATIONS})\b|^(?:i|we) have (?:an?|two|three|four|\d) "
    r"|^我叫|过敏|生日|我们?(?:住|搬到)|我家|我在.{1,12}(?:工作|上班)"
    rf"|我的?(?:{_CHINESE_RELATIONS})|我有[一两二三四五\d](?:个|只|条)",
    re.IGNORECASE,
)


#: Beginnings of slots that hold the thing they are on.
_NAMING_ITS_THING = ("taste ", "allergic ")


def _gives_attribute(text: str) -> bool:
    """Whether a text gives a number, a birthday, a name and the like, of whomever."""
    thing = _thing(_bare(_PASSING.sub(" ", plain_wording(text))))
    return thing is not None and thing.one_each


def _firm_slots(clause: str) -> Iterator[str]:
    for pattern, slot in _FIRM:
        if pattern.search(clause) and not _is_past(clause):
            yield slot
    thing = _thing(clause)
    if thing is not None and thing.one_each and not thing.several:
        yield thing.key
    elif found := _ALLERGIC.search(clause):
        yield f"allergic {_says(found['object'] or found['cn'])}"
    elif found := _PREFER.search(clause):
        one, two = found["first"] or found["cn"], found["second"] or found["cn2"]
        if two:
            pair = sorted((_says(one), _says(two)))
            yield f"prefer {' | '.join(pair)} {_says(found['where'] or '')}"
    elif found := _TASTE.search(clause):
        yield f"taste {_says(found['object'] or found['cn'])}"


def _loose_slots(clause: str) -> Iterator[str]:
    thing = _thing(clause)
    if thing is not None and (thing.several or not thing.one_each):
        yield f"{thing.key} | {_shape(thing.value)}"
    if (found := _PREFER.search(clause)) and not (found["second"] or found["cn2"]):
        words = [one for one in terms(found["first"] or found["cn"]) if len(one) > 1]
        if words:
            yield f"prefer {words[-1]} | {_says(found['where'] or '')}"


class _Thing(msgspec.Struct, frozen=True):
    """What "my sister's birthday is 4 May" speaks of."""

    key: str
    value: str
    one_each: bool
    """Nobody has two of it at a time."""
    several: bool
    """The user may have several of those whose it is."""


def _thing(clause: str) -> _Thing | None:
    if found := _ATTRIBUTE.match(clause):
        key = " ".join(_NEW.sub("", found["thing"].casefold()).split())
        one_each = bool(_FAVOURITE.search(key) or _SINGLE_LAST.search(key))
        owner = key.rpartition(" ")[0]
    elif (found := _CHINESE_ATTRIBUTE.match(clause)) and found["thing"].strip() not in "我你这":
        key = owner = _NEW.sub("", found["thing"]).strip()
        one_each = bool(_FAVOURITE.search(key) or _CHINESE_SINGLE_LAST.search(key))
    else:
        return None
    value = found["value"]
    described = _ALSO_DESCRIBED.search(key)
    for known, same in _SAME_THING:
        key = known.sub(same, key)
    if described:
        shape = _shape(value)
        one_each = one_each and shape != "words"
        key = key if shape in ("name", "words") else f"{key} | {shape}"
    return _Thing(key, value, one_each, bool(_SEVERAL.search(owner)))


_SAME_THING: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), same)
    for pattern, same in (
        (r"^(?:我|my )(?:工作|职业|职位|profession|occupation|job title|job)$", "my job"),
        (r"^(?:我|my )(?:名字|姓名|full name|first name|name)$", "my name"),
        (r"^(?:我|my )(?:公司|单位|company|employer)$", "my employer"),
        (r"^(?:我|my )(?:地址|home address|address)$", "my address"),
        (r"^(?:我|my )(?:年龄|age)$", "my age"),
        (r"^(?:我|my )(?:生日|birthday|date of birth|birth ?date)$", "my birthday"),
        (
            r"^(?:我|my )(?:电话|电话号码|手机号?|手机号码|号码|(?:phone |mobile )?number)$",
            "my phone number",
        ),
        (r"^(?:我|my )(?:邮箱|e-?mail(?: address)?)$", "my email"),
    )
)


def _is_past(clause: str) -> bool:
    return bool(
        re.search(r"\b(?:lived|worked|grew up)\b|以前|从前|小时候|曾", clause, re.IGNORECASE)
    )


def _shape(value: str) -> str:
    """What sort of value it is: of two sorts, one does not take the place of the other."""
    value = value.strip()
    if re.search(r"\d", value):
        return "number"
    if re.match(r"(?:an?|一[只个条名位])\b", value):
        return "one of a kind"
    if _ORIGIN.fullmatch(value):
        return "words"
    return "name" if re.match(r"(?:Dr\.? |Mrs?\.? |Ms\.? )?[A-Z]", value) else "words"


_ORIGIN = re.compile(r"[A-Z]\w+(?:an|ish|ese|ch)|Greek|Czech|Swiss|Thai|Dutch")


def _says(text: str) -> str:
    return " ".join(terms(_bare(_AFFIRMS.sub(" ", text))))


def _bare(text: str) -> str:
    """The text without the gaps that words left which were taken out."""
    return _HAN_GAP.sub("", " ".join(text.split())).strip(" ,，")


_HAN_GAP = re.compile(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])")


def _content(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word not in _FRAME and (word.isascii() or len(word) > 1):
            yield word
