"""Secrets in a text, told by their form or by what they are called: English and Chinese."""

from __future__ import annotations

import re
import unicodedata

from assistant.errors import WrongEntry

_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
        ("an API key", r"\b(?:sk|pk|rk)[-_](?=[\w-]{0,200}\d)[\w-]{16,}"),
        ("an access token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
        ("an access token", r"\b(?:glpat-|hf_|npm_|pypi-|dckr_pat_)[\w-]{16,}"),
        ("an access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("an access token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("an API key", r"\bAIza[\w-]{30,}"),
        ("an access token", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    )
)
#: What is a key where the text speaks of one: long, with letters and digits, and no address.
_KEY_WORD = re.compile(
    r"(?<![A-Za-z])(?:keys?|tokens?|secrets?|credentials?)(?![A-Za-z])|密钥|令牌", re.I
)
_KEY = re.compile(r"(?<![\w/.+-])(?=[\w/+-]*\d)(?=[\w/+-]*[A-Za-z])[\w/+-]{16,}")

_WORD = r"(?:pass(?:word|code|phrase|wd)|pwd|pw|api[ -]?key|access token|(?:recovery|seed) phrase)"
_PIN = (
    r"(?:pin(?:[ -]?(?:code|number))?|cv[vc]2?|secret(?: key)?"
    r"|(?:door|gate|garage|alarm|entry|access|security|unlock|safe|lock|locker|login|backup|bank"
    r"|recovery|verification)[ -]code)"
)
_OF = r"(?: ?\([^)\n]{0,40}\)| (?:for|of|to|on|at|from|with|in)\b[^.?!\n:=]{0,50}?)?"
_IS = (
    r"(?:(?: (?:is|was|are)\b|'s\b| (?:has|had) been\b)(?: (?:now|still|just|currently))*"
    r"(?: (?:changed|set|reset|updated) to\b)?| to\b| ?[:=])\s*[\"'“「]?"
)
#: What is said of a password that is not told.
_NO_VALUE = (
    r"(?!(?:what|how|why|that|an?|the|by|me|you|your|always|never|too|not|very|so|easy|simple"
    r"|strong|weak|complex|complicated|hard|long|short|secure|safe|different|unique|random|expired"
    r"|wrong|lost|stolen|secret|written|stored|saved|kept|in|on|at|with|needed|required|managed"
    r"|generated|changed|reset|set|due|about|my|our|see|annoying|important)\b)"
)
_DIGITS = r"(?:[^\s\"'”」]*\d){3}"
_DIGIT_WORD = r"(?:zero|one|two|three|four|five|six|seven|eight|nine)"
_NO_SECRET = "(?!什么|多少|啥|不|在|放|存|我|用|谁|自己|由|很|太|随机|一样|一[个门种样]|老|新|最)"
_CHINESE_WORD = "(?:密码(?!学|器|本|锁|箱|管理|技术)|口令|支付码|验证码|解锁码|门禁码|PIN码?)"
_CALLED = re.compile(
    # my password is hunter2, the password of the router: a b c
    rf"\b{_WORD}\b{_OF}{_IS}(?:(?<=[:=]) ?|{_NO_VALUE}(?=[^\s\"'”」]{{3}}))[^\s\"'”」]"
    # the PIN of my card is 4711, door code: 12 34
    rf"|\b{_PIN}\b{_OF}{_IS}(?:{_DIGITS}|\d\d \d|{_DIGIT_WORD}[ -]{_DIGIT_WORD}\b)"
    # password hunter2, pin 4711
    rf"|\b(?:{_WORD} (?=\S*\d)\S{{4,}}|(?:{_PIN}) \d{{3,8}}\b(?! ?(?:%|times|people)))"
    # hunter2 is my password
    rf"|(?<!\S)(?=\S*\d)\S{{3,}} (?:is|was) (?:my|our|the)\b[^.?!\n]{{0,30}} (?:{_WORD}|{_PIN})\b"
    r"(?! manager)"
    # 我的密码是hunter2, 密码 hunter2
    rf"|{_CHINESE_WORD}[^，。？?\n]{{0,8}}?(?:是|为|改成了?|设成了?|换成了?|[：:=])\s*{_NO_SECRET}"
    r"[^\s，。？?]{3,}"
    rf"|{_CHINESE_WORD}\s?(?=[!-~]*\d)[!-~]{{3,}}",
    re.IGNORECASE,
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
_CARD = re.compile(r"(?<![\d+.])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\d])")
_PHONE_BEFORE = re.compile(r"(?:phone|mobile|tel|call|电话|手机|\+)[^\d]{0,20}$", re.IGNORECASE)


def secret_in(text: str) -> str:
    """What in the text is to be kept secret, in words; empty when nothing is."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    # Characters without a width would hide a word.
    plain = "".join(one for one in plain if unicodedata.category(one) != "Cf")
    for what, pattern in _FORMS:
        if pattern.search(plain):
            return what
    if _CALLED.search(plain):
        return "a password or PIN"
    if _KEY_WORD.search(plain) and _KEY.search(plain):
        return "a key or token"
    without_ibans = _IBAN.sub(lambda found: " " if _is_iban(found[0]) else found[0], plain)
    for found in _CARD.finditer(without_ibans):
        digits = re.sub(r"\D", "", found[0])
        phone = _PHONE_BEFORE.search(without_ibans[: found.start()])
        if not phone and 13 <= len(digits) <= 19 and _passes_luhn(digits):
            return "a card number"
    return ""


def require_no_secret(text: str) -> None:
    """Raises WrongEntry when there is one in the text."""
    if secret := secret_in(text):
        raise WrongEntry(
            f"Nothing was kept: this holds {secret}, and facts are stored as plain text and sent "
            "with every question. Keep it in a password manager; say the rest without it.",
            "text",
        )


def _passes_luhn(digits: str) -> bool:
    doubled = [2 * int(one) for one in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(n - 9 * (n > 9) for n in doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "")
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1
