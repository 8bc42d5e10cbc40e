"""Sentences that state something lasting: rules, promises, preferences, facts about the speaker.

Told by their wording alone, English and Chinese. Wrong guesses cost a line in the kept section;
what is missed may be lost with a summary, so where both are likely the sentence is taken.
"""

from __future__ import annotations

import re

from assistant.messages import Kind, Role


def statement_in(sentence: str, role: Role) -> tuple[Kind, int] | None:
    """What a sentence states, and where in it the words stand that say so."""
    asked = bool(_QUESTION.search(sentence))
    for kind, pattern in _USER if role == "user" else _ASSISTANT:
        match = pattern.search(sentence)
        if match is None or (kind == "rule" and _HABIT.search(sentence)):
            continue
        # "Do you know what I like?" states nothing; "can you always use euros?" asks for a rule.
        if not asked or kind == "rule" or _REMIND.search(match.group()):
            return kind, match.start()
    return None


def _any_of(*wordings: str) -> re.Pattern[str]:
    return re.compile("|".join(wordings), re.IGNORECASE)


_QUESTION = re.compile(r"[?？]['\"”’)]?$")
_REMIND = re.compile(r"remind|提醒", re.IGNORECASE)
# A subject before "always" or "never" tells a habit, not a rule.
_HABIT = re.compile(
    r"\b(?:i|he|she|it|we|they|who|that)(?:'s|'ve)? (?:\w+ )?(?:always|never)\b", re.IGNORECASE
)

_ORDER = r"(?:^|[,:;]\s|\bplease |\byou (?:should|must) )(?:please )?"
_NOT_A_VERB = (
    r"(?!(?:is|are|was|do|does|did|can|could|will|would|have|has|i|we|you|he|she|it|they|the|my"
    r"|what|how|why|who|when|where)\b)"
)
_RULE = _any_of(
    _ORDER + r"always(?! been)",
    _ORDER + r"never(?! (?:mind|saw|thought|had|been|knew|felt|heard|give up|\w+ed\b))",
    _ORDER + r"(?:do not|don't)(?! (?:worry|you|they|we|i|know|think|mind|have|see|feel|forget|let"
    r"|give up|get me|be (?:afraid|sorry|shy)|stop|even|really|want|like|need)\b)",
    _ORDER + r"(?:stop \w+ing|make sure|remember(?: that|:| i )|address me)",
    _ORDER + r"keep (?:your|the|all|answers|replies)",
    _ORDER + r"only (?:use|answer|reply|give|write|speak|show|send)",
    _ORDER + r"call me(?! (?:at|on|back|when|if))",
    _ORDER + r"(?:answer|reply|respond|write|speak)(?: to)?(?: me)? (?:only )?in ",
    r"\bfrom (?:now|here) on\b",
    r"\bgoing forward\b",
    r"\bin (?:the )?future,",
    r"\bi(?:'d)? (?:want|need|like|expect) you to "
    r"(?:always|never|stop|use|answer|reply|call|keep)\b",
    r"\bplease (?:avoid|use|stop|no)\b",
    r"\b(?:must|should) (?:always|never)\b",
    r"\byou(?:'re| are) (?:not )?(?:supposed|allowed) to\b",
    r"\byou (?:won't|mustn't|shouldn't)\b",
    r"\b(?:answers|replies|reports|emails) (?:must|should) (?:be|not|have)\b",
    r"\b(?:every|any|each) ?time i\b",
    r"\bwhenever i (?:ask|say|mention|write|send)\b",
    r"\bno more than [^,.]{1,30} (?:at a time|per|in (?:a|an|one|each))\b",
    r"^in (?:code|e?mails?|letters|answers|replies|reports)\b[^.?!]{0,30} "
    r"(?:use|prefer|avoid|write|put|add|start|end)\b",
    r"^(?:please )?(?:write|give|use|show|put|express|sign|format|translate|list|spell|quote|start"
    r"|end|mark) (?:all|every|each|any|my \w+s)\b",
    # An order for a case that comes again: "when I paste German, translate it first".
    r"^(?:when|if) i (?!was|am|were|had|have|could|would|can)\w+[^,.?!]{0,60}, "
    r"(?:please |you |then )?(?!(?:i|we|he|she|they|it|my|the|will|would)\b)[a-z]+ ",
    # An order that holds for every case: "double-check each sum before you answer".
    r"^(?:please )?" + _NOT_A_VERB + r"[a-z-]+ [^,.?!]{0,60}\b"
    r"(?:everything (?:you|i)|every time|each time|before you|whenever|any time|unless i)\b",
    r"(?:^|[，,。；：\s])请?你?(?:以后|今后|从现在起|从今往后|从今天起|往后)"
    r"(?!我(?:也|们|会|想|要|就)|[，,]?(?:再说|有空|的事))",
    r"每次(?=[^。！？]{0,20}(?:请|都要|都用|先|要用|别|不要))",
    r"一律|凡是|务必|切记|永远(?:不要|别|用)|千万(?:别|不要)|记住[，：:]?(?!了)",
    r"请[你您]?(?:不要|别|勿|用|始终|务必|一定|记住|叫我|总是|只|都)",
    r"下次[^，。]{0,6}请|先[跟问和]我|只(?:考虑|推荐|接受)",
    r"(?:^|[，,。；\s])(?:不要再?|别再?|必须|不许|禁止|只能用|只用|不准)"
    r"(?!客气|担心|着急|说是|忘)",
    r"(?<!我)(?<!们)(?<!也)(?:不要|别(?!忘)|必须|一定要|一定得)"
    r"(?=[^，。]{0,6}(?:我|用|写|说|提|叫|给|推荐|告诉|问|含|发|加|带|先))",
    r"(?<!我)(?<!们)都(?:(?:要|得|请)?用|不要|别)",
    r"你?(?:回答|回复|写|翻译|总结)[^，。我]{0,8}时候?[，,]?[^，。我]{0,8}(?:用|先|要|别|得)",
    r"(?:回答|回复|邮件|报告|称呼)[^，。]{0,6}(?:必须|不要|别|要用|都用|一律|请用)",
    r"(?:^|[，,])(?:叫|称呼)我",
)

_PROMISE = _any_of(
    r"(?:^|[,;] |\bplease |\b(?:can|could|will|would) you |\band )"
    r"(?:remind|ping|nudge|wake|alert) me\b(?! (?:of|why|how|what)\b)",
    r"\bdon't (?:let me )?forget\b",
    r"\bremember to\b",
    r"\bi(?:'ll| will| have to| need to| must|'ve got to| should|'m going to|'m supposed to)\s"
    r"(?:\w+ ){0,2}?(?:send|call|pay|bring|give|return|email|book|finish|submit|deliver|meet|pick"
    r"|write|renew|cancel|hand in|file|sign|buy|order|prepare|transfer|reply|fix|check)\b(?! up\b)",
    r"\bi(?:'ve got| still have| have| need) to (?!admit|say|be\b|agree|confess|laugh|wonder|know"
    r"|go\b|see\b|ask\b|try\b|think\b)\w+",
    r"\bi promised?\b",
    r"\bi(?: have)? (?:told [\w ]{1,20}|said) i(?:'d|'ll| will| would)\b",
    r"\bi owe\b|\bdeadline\b|\b(?:is|are) due\b|\bdue (?:on|by)\b",
    r"提醒我|别忘了?|不要忘|我答应|我保证|答应[了过]|截止",
    r"记得(?=[^，。]{0,12}[给去买交还带打发付订取])",
    r"前[^，。]{0,3}(?:要|得|必须)",
    r"[要得]把[^，。]{1,12}[给寄交还]",
    r"我们?(?:会|要|得|必须|需要|打算|还要|应该)[^，。]{0,10}"
    r"(?:给(?!我)|寄|还给|还钱|打电话|交|付|订|续|提交|完成|回复|准备好|联系|签)",
)
_ASSISTANT_PROMISE = _any_of(
    r"\bi(?:'ll| will) (?:remind|send|email|check back|follow up|book|keep an eye|let you know)\b",
    r"\bi promise\b",
    r"我会(?:提醒|发|给你发|通知|帮你(?:订|查|留意))|我答应",
)

_PREFERENCE = _any_of(
    r"\bi(?: really| also| still| absolutely| always| usually| much| strongly| do)*"
    r" (?:don't |do not |never )?(?:like|love|prefer|hate|dislike|enjoy|can't stand|adore)\b"
    r"(?! (?:that|this|it|the idea|how|your|to know|what|you\b))",
    r"\ballergic to\b|\bmy favou?rite\b|\bi'd rather\b|\bi'm not (?:a fan|into)\b",
    r"\bi (?:really |still )?(?:don't|never|do not) (?:ever |really )?(?:eat|drink|take)\b",
    r"\bi only (?:eat|drink|wear|buy|use|listen|watch)\b",
    r"\bcan't (?:have|eat|drink|tolerate)\b|\bdo(?:es)?n't agree with me\b",
    r"\b(?:i'm|i am|is|are) (?:an? )?(?:strict )?"
    r"(?:vegetarian|vegan|lactose|gluten|left-handed|colou?r ?blind|diabetic)\b",
    r"我(?:们)?[^，。；我你您他她]{0,8}?(?:喜欢|讨厌|偏好|偏爱|(?<!的)习惯|爱[吃喝看听玩]|不[吃喝爱]"
    r"|热爱|钟爱)(?!你|这个主意|的(?![^，。]{0,12}是)|[。！!]?$)",
    r"吃素|吃斋|忌口|口味|对[^，。]{1,12}过敏|不能[吃喝]|我的最爱",
    r"更愿意|宁愿|宁可|受不了|不想(?=[坐吃喝去住])",
)

_ABOUT = _any_of(
    r"\bi(?:'m| am) (?:an? (?!bit|little|lot|few|fan|part|huge|big|great|good)|from |based in )",
    r"\bi work (?:as|at|for|in)\b",
    r"\b(?:i|we) live (?:in|at|on|with|near|by|outside)\b|\bi(?:'ve)? moved to\b",
    r"\bi (?:was born|grew up)\b|\bi study\b",
    r"\bmy (?:blood type|address|birthday|job title)\b",
    r"\b(?:i|we) have (?:(?:an?|two|three|four|\d) )?(?:\w+ )?"
    r"(?:twins|kids?|child|children|sons?|daughters?|dogs?|cats?|brothers?|sisters?|siblings)\b",
    r"我是(?:一名|一位|一个|个|做|学|搞|教)",
    r"我(?:现在)?住在?|我来自|我擅长|我的职业|我从事|我家有|我的(?:血型|地址|生日|尺码)",
    r"我在[^，。想思考]{1,12}(?:工作|上班|读书|上学|当|教)",
)

_NEGATION = _any_of(
    r"\bi (?:don't|do not|can't|cannot|am not|won't|no longer) "
    r"(?:have|own|drive|work|live|use|speak|smoke|travel|fly|swim)\b",
    r"\bi'm not (?:married|working|available)\b|\bwe decided not\b",
    r"我们?(?:没有(?=[车房狗猫孩钱护驾签])|不会(?=[开游说做])|不再|不打算|没结婚)",
)

_USER: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("rule", _RULE),
    ("promise", _PROMISE),
    ("preference", _PREFERENCE),
    ("about", _ABOUT),
    ("negation", _NEGATION),
)
_ASSISTANT: tuple[tuple[Kind, re.Pattern[str]], ...] = (("promise", _ASSISTANT_PROMISE),)
