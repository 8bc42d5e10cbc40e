"""Conversations with things planted in them that a summary must not lose, made from templates.

Between the planted turns stand ordinary ones with numbers and days of their own. Everything
follows from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Literal, TypeAlias, TypeVar

PlantedKind: TypeAlias = Literal["rule", "code", "date", "amount", "preference", "correction"]
Talk: TypeAlias = Literal["english", "chinese", "mixed"]
#: A sentence, `{0}` for what it is about and `{1}` for the value; and what it can be about.
Templates: TypeAlias = Sequence[tuple[str, Sequence[str]]]
#: A sentence, and two words of it that must be known together.
Sentences: TypeAlias = Sequence[tuple[str, str, str]]
#: The kind of value, what is said first, what is said later, and what it can be about.
Pairs: TypeAlias = Sequence[tuple[str, str, str, Sequence[str]]]

KINDS: tuple[PlantedKind, ...] = ("rule", "code", "date", "amount", "preference", "correction")
# What is planted, in this order and around again: about what people say in a planning talk.
MIX: tuple[PlantedKind, ...] = (
    "code", "date", "rule", "amount", "preference", "correction", "code", "date", "amount",
)  # fmt: skip
Said = TypeVar("Said")
TURNS = 10
"""Turns of a round, more where what is planted needs them."""


@dataclass(frozen=True)
class Planted:
    """One thing said in a conversation, and how to tell whether it is still known."""

    kind: PlantedKind
    says: tuple[str, ...]
    """What the user says; of a correction what is said first and what is said later."""
    value: str
    about: str
    """What must stand in the same line as the value; of a rule both are words of it."""
    old: str = ""
    """What a correction takes back."""


@dataclass(frozen=True)
class Exchange:
    """What the user says and what is answered."""

    user: str
    assistant: str


def conversation(
    seed: int, talk: Talk, rounds: int, density: int
) -> Iterator[tuple[list[Exchange], list[Planted]]]:
    """The turns of each round and what is planted in it, `density` things a round."""
    rng = Random(f"{seed} {talk}")
    stock = {kind: _stock(rng, talk, kind) for kind in KINDS}
    later: list[str] = []
    for number in range(rounds):
        kinds = [MIX[(number * density + at) % len(MIX)] for at in range(density)]
        planted = [stock[kind].pop() for kind in kinds]
        said = [one.says[0] for one in planted]
        corrections = [one.says[1] for one in planted if len(one.says) > 1]
        # Some corrections come in the same round, some in the next; in the last all come at once.
        now = [text for text in corrections if number == rounds - 1 or rng.random() < 0.5]
        turns = _turns(rng, talk, said, [*later, *now])
        later = [text for text in corrections if text not in now]
        yield turns, planted


def _turns(rng: Random, talk: Talk, said: list[str], corrections: list[str]) -> list[Exchange]:
    first = [_answered(rng, talk, text) for text in said]
    chatter = [_chatter(rng, talk) for _ in range(max(3, TURNS - len(said) - len(corrections)))]
    turns = [*first, *chatter]
    rng.shuffle(turns)
    return [*turns, *(_answered(rng, talk, text) for text in corrections)]


# --- what is planted ----------------------------------------------------------------------------


def _stock(rng: Random, talk: Talk, kind: PlantedKind) -> list[Planted]:
    """Every thing of a kind, in random order; each is about something else."""
    languages = {
        "english": (_English(rng),),
        "chinese": (_Chinese(rng),),
        "mixed": (_English(rng), _Chinese(rng), _Mixed(rng)),
    }[talk]
    things = [thing for language in languages for thing in language.all(kind)]
    rng.shuffle(things)
    return things


class _Language:
    """What can be said in one language."""

    codes: Templates = ()
    dates: Templates = ()
    amounts: Templates = ()
    rules: Sentences = ()
    preferences: Sentences = ()
    corrections: Pairs = ()

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def all(self, kind: PlantedKind) -> Iterator[Planted]:
        if kind in ("rule", "preference"):
            sentences = self.rules if kind == "rule" else self.preferences
            for text, value, about in sentences:
                yield Planted(kind, (text,), value, about)
        elif kind == "correction":
            for value_kind, first, then, things in self.corrections:
                for about in things:
                    old, new = self.value(value_kind), self.value(value_kind)
                    says = first.format(about, old), then.format(about, new, old)
                    yield Planted(kind, says, new, about, old)
        else:
            for text, things in {
                "code": self.codes, "date": self.dates, "amount": self.amounts,
            }[kind]:  # fmt: skip
                for about in things:
                    value = self.value(kind)
                    yield Planted(kind, (text.format(about, value),), value, about)

    def value(self, kind: str) -> str:
        return {"code": self.code, "date": self.date, "amount": self.amount, "time": self.time}[
            kind
        ]()

    def code(self) -> str:
        letters = "".join(self._rng.choice("ABCDEFGHKLMNPRSTVWXZ") for _ in range(3))
        digits = f"{self._rng.randrange(1000, 9999)}"
        return self._rng.choice(
            (f"{letters[:2]}-{digits}", f"{letters}{digits}", f"{digits}-{letters[0]}{digits[:2]}")
        )

    def day(self) -> date:
        return date(2026, 4, 1) + timedelta(days=self._rng.randrange(240))

    def date(self) -> str:
        raise NotImplementedError

    def amount(self) -> str:
        raise NotImplementedError

    def time(self) -> str:
        raise NotImplementedError


class _English(_Language):
    codes: Templates = (
        ("The gate code for the {0} is {1}.", ("warehouse", "allotment", "marina")),
        ("My booking reference for the {0} is {1}, in case I lose the mail.", ("ferry", "hostel")),
        ("Oh, and the order number of the {0} is {1}.", ("bookshelf", "tent", "keyboard")),
        ("The invoice to {0} went out, its number is {1}.", ("Brightwater", "Castellan")),
        ("Serial number of the {0}: {1}", ("boiler", "dishwasher")),
        ("I got a new card for the {0}, it says {1}.", ("library", "gym")),
        ("If they ask, the case number with the {0} is {1}.", ("insurer", "landlord")),
        ("Wifi at the {0} is {1} by the way.", ("studio", "cabin")),
    )
    dates: Templates = (
        ("My {0}'s birthday is on {1}.", ("sister", "godson", "neighbour")),
        ("The {0} has to be handed in by {1}.", ("thesis", "tax return", "grant proposal")),
        ("We fly to {0} on {1}.", ("Lisbon", "Oslo", "Porto")),
        ("The contract for the {0} runs out on {1}.", ("garage", "phone", "piano")),
        ("I have to see the {0} on {1}.", ("orthodontist", "notary", "optician")),
        ("Our {0} takes place on {1}, remember the cake.", ("reunion", "flea market")),
    )
    amounts: Templates = (
        ("I can spend at most {1} on the {0}.", ("kitchen", "bicycle", "sofa")),
        ("The {0} costs us {1} a month.", ("nursery", "allotment lease", "parking space")),
        ("Our {0} still owes me {1}.", ("plumber", "cousin", "flatmate")),
        ("We agreed on {1} for the {0}.", ("translation", "garden wall", "logo")),
        ("They want a deposit of {1} for the {0}.", ("cottage", "drum kit", "van")),
    )
    rules: Sentences = (
        ("From now on, answer in short bullet points.", "bullet", "answer"),
        ("Please never use emojis in your replies.", "emoji", "never"),
        ("Always give temperatures in Celsius.", "Celsius", "temperatures"),
        ("Don't suggest any restaurants with seafood.", "seafood", "restaurants"),
        ("Whenever I ask about code, use Python.", "Python", "code"),
        ("I want you to call me Captain.", "Captain", "call me"),
        ("Never mention work after dinner time.", "work", "never mention"),
        ("Use British spelling in everything you write for me.", "British", "spelling"),
        ("Always ask me before you book anything.", "before", "book"),
        ("Stop apologising in every answer.", "apologising", "stop"),
        ("Keep your answers under a hundred words.", "hundred words", "answers"),
        ("Prices should always include VAT.", "VAT", "prices"),
        ("Please double-check every sum before you tell me.", "double-check", "sum"),
        ("Don't ever share my address with anyone.", "address", "share"),
    )
    preferences: Sentences = (
        ("I prefer window seats on trains.", "window", "prefer"),
        ("I can't stand cilantro.", "cilantro", "can't stand"),
        ("I'm allergic to penicillin.", "penicillin", "allergic"),
        ("My favourite tea is oolong.", "oolong", "favourite"),
        ("I don't drink coffee after lunch.", "coffee", "don't drink"),
        ("I'd rather walk than take the bus.", "walk", "rather"),
        ("I hate early meetings, to be honest.", "early meetings", "hate"),
        ("I really enjoy crime novels.", "crime novels", "enjoy"),
        ("My wife is a vegetarian, keep that in mind for dinner.", "vegetarian", "wife"),
    )
    corrections: Pairs = (
        (
            "time",
            "The rehearsal with {0} is at {1}.",
            "Sorry, the rehearsal with {0} is at {1}, not {2}.",
            ("Miriam", "Tobias"),
        ),
        (
            "amount",
            "The budget for the {0} is {1}.",
            "Actually the {0} budget is {1} now.",
            ("roof", "wedding"),
        ),
        (
            "date",
            "We leave for {0} on {1}.",
            "The trip to {0} got moved from {2} to {1}.",
            ("Krakow", "Bergen"),
        ),
        (
            "code",
            "The locker code at the {0} is {1}.",
            "They changed the locker code at the {0}, it is {1} instead of {2}.",
            ("pool", "climbing hall"),
        ),
    )

    def date(self) -> str:
        day = self.day()
        return self._rng.choice(
            (f"{day:%B} {day.day}", f"{day.day} {day:%B}", f"{day:%Y-%m-%d}", f"{day:%b} {day.day}")
        )

    def amount(self) -> str:
        figure = self._rng.randrange(12, 99) * 100
        return self._rng.choice(
            (f"{figure:,} euros", f"${figure:,}", f"€{figure}", f"{figure} USD")
        )

    def time(self) -> str:
        hour = self._rng.randrange(1, 12)
        return self._rng.choice((f"{hour}pm", f"{hour}:30 pm", f"{hour + 12}:15"))


class _Chinese(_Language):
    codes: Templates = (
        ("{0}的门禁码是{1}。", ("仓库", "车库", "工作室")),
        ("对了，{0}的订单号是{1}", ("书架", "帐篷", "键盘")),
        ("{0}的会员卡号是{1}，先记一下。", ("图书馆", "健身房")),
        ("给{0}的发票编号是{1}。", ("博远公司", "海川公司")),
        ("{0}的序列号：{1}", ("热水器", "洗碗机")),
        ("我在{0}的取件码是{1}。", ("菜鸟驿站", "丰巢")),
        ("{0}那边的案件号是{1}，他们会问的。", ("保险公司", "物业")),
        ("{0}的WiFi密码是{1}", ("民宿", "咖啡馆")),
    )
    dates: Templates = (
        ("我{0}的生日是{1}。", ("妹妹", "岳母", "外甥")),
        ("{0}要在{1}之前交。", ("论文", "报税材料", "开题报告")),
        ("我们{1}飞{0}。", ("昆明", "三亚", "大阪")),
        ("{0}的合同{1}到期。", ("停车位", "宽带", "钢琴")),
        ("{1}要去看{0}。", ("口腔医生", "公证员", "眼科医生")),
        ("{0}定在{1}，别忘了蛋糕。", ("同学会", "婚礼彩排")),
    )
    amounts: Templates = (
        ("{0}最多花{1}。", ("厨房装修", "自行车", "沙发")),
        ("{0}每个月{1}。", ("托儿所", "停车费", "健身课")),
        ("{0}还欠我{1}。", ("水管工", "表弟", "室友")),
        ("{0}我们谈好了{1}。", ("翻译稿", "围墙", "商标设计")),
        ("{0}要交{1}押金。", ("小木屋", "架子鼓", "面包车")),
    )
    rules: Sentences = (
        ("以后回答都用要点列出来。", "要点", "回答"),
        ("请不要在回复里用表情符号。", "表情", "不要"),
        ("温度一律用摄氏度。", "摄氏", "温度"),
        ("别再推荐海鲜餐厅了。", "海鲜", "别"),
        ("每次我问代码，请用Python。", "Python", "代码"),
        ("以后叫我队长。", "队长", "叫我"),
        ("晚饭以后不要跟我提工作。", "工作", "不要"),
        ("给我写的东西都要用繁体字。", "繁体", "写"),
        ("订任何东西之前必须先问我。", "之前", "问我"),
        ("回答不要超过一百字。", "一百字", "回答"),
        ("报价一定要含税。", "含税", "报价"),
        ("请务必把每个数字核对两遍。", "核对", "数字"),
        ("千万不要把我的地址告诉别人。", "地址", "不要"),
    )
    preferences: Sentences = (
        ("我坐火车喜欢靠窗的座位。", "靠窗", "喜欢"),
        ("我不吃香菜。", "香菜", "不吃"),
        ("我对青霉素过敏。", "青霉素", "过敏"),
        ("我最喜欢的茶是乌龙茶。", "乌龙茶", "喜欢"),
        ("我中午以后不喝咖啡。", "咖啡", "不喝"),
        ("我讨厌一大早开会。", "开会", "讨厌"),
        ("我特别爱看推理小说。", "推理小说", "爱看"),
        ("我太太吃素，点菜的时候注意。", "吃素", "太太"),
    )
    corrections: Pairs = (
        ("time", "和{0}的排练是{1}。", "说错了，和{0}的排练是{1}，不是{2}。", ("苏敏", "程浩")),
        ("amount", "{0}的预算是{1}。", "其实{0}的预算现在是{1}。", ("屋顶翻新", "婚宴")),
        ("date", "我们{1}出发去{0}。", "去{0}的行程从{2}改到{1}了。", ("青岛", "敦煌")),
        (
            "code",
            "{0}的柜子密码是{1}。",
            "{0}的柜子密码换了，是{1}，不是{2}。",
            ("游泳馆", "攀岩馆"),
        ),
    )

    def date(self) -> str:
        day = self.day()
        return self._rng.choice(
            (f"{day.month}月{day.day}日", f"{day.month}月{day.day}号", f"{day:%Y-%m-%d}")
        )

    def amount(self) -> str:
        figure = self._rng.randrange(12, 99) * 100
        return self._rng.choice(
            (f"{figure:,}元", f"¥{figure}", f"{figure}块", f"{figure / 1e4}万元")
        )

    def time(self) -> str:
        hour = self._rng.randrange(1, 8)
        return self._rng.choice((f"下午{hour}点", f"下午{hour}点半", f"{hour + 12}:15"))


class _Mixed(_Chinese):
    codes: Templates = (
        ("{0} 的会议号是 {1}。", ("Zoom 周会", "Teams 例会")),
        ("{0} 的 ticket 编号是 {1}，reviewer 还没定。", ("登录 bug", "支付 bug")),
    )
    dates: Templates = (
        ("这个 {0} 的 deadline 是 {1}。", ("sprint", "demo")),
        ("{0} 的 release 定在 {1}。", ("iOS 版", "Android 版")),
    )
    amounts: Templates = (("{0} 的账单每个月 {1}。", ("AWS", "Figma")),)
    rules: Sentences = (
        ("以后 code review 的评论都用英文写。", "英文", "评论"),
        ("请不要用 Java 举例。", "Java", "不要"),
    )
    preferences: Sentences = (("我喜欢用 dark mode。", "dark mode", "喜欢"),)
    corrections: Pairs = (
        ("time", "{0} 是{1}。", "{0} 改到{1}了，不是{2}。", ("standup", "kickoff")),
    )


# --- what is said between it --------------------------------------------------------------------

_ENGLISH_CHATTER = (
    ("I ran {n} minutes this morning and it felt fine.", "Nice, that is a good start to the day."),
    ("It rained the whole day yesterday, again.", "About {n} days of rain a month is usual there."),
    ("I read around {n}0 pages last night.", "At that pace the book takes you a week."),
    ("Lunch was {n} dollars today, way too much.", "A packed lunch comes to roughly 4 dollars."),
    ("What's the difference between a list and a tuple?", "A tuple can't be changed, a list can."),
    ("Can you recommend a film for tonight?", "The Straight Story, from 1999, runs 112 minutes."),
    ("The bus was {n} minutes late.", "That is a pity."),
    ("How long do I boil eggs?", "Boil them for {n} minutes, then 5 minutes in ice water at 4 °C."),
    ("Two of them said the same thing.", "Then it is probably true."),
    ("There were about {n}00 people at the concert last weekend.", "That sounds crowded."),
    ("In 1998 I was in Rome for the first time.", "Rome has about 2,800,000 inhabitants today."),
    ("Never mind, I found it.", "Good."),
    ("I always forget where I put my keys.", "A hook by the door helps."),
    ("My phone is at {n}% already.", "Lower the brightness, that saves up to 20 %."),
    (
        "Do you know a good bread recipe?",
        "Mix 500 g flour, 350 g water, 10 g salt; bake at 230 °C.",
    ),
    ("See you tomorrow then.", "See you!"),
    ("I like that idea.", "Glad to hear it."),
    ("We walked {n} km on Sunday.", "Well done."),
)
_CHINESE_CHATTER = (
    ("今天早上跑了{n}分钟，感觉还行。", "不错，坚持下去。"),
    ("昨天又下了一整天雨。", "那边一个月大约有{n}天下雨。"),
    ("昨晚看了大概{n}0页书。", "照这个速度一周就能看完。"),
    ("今天午饭花了{n}块，太贵了。", "自己带饭一顿大约10块钱。"),
    ("列表和元组有什么区别？", "元组不能修改，列表可以。"),
    ("今晚看什么电影好？", "可以看《饮食男女》，1994年的，片长124分钟。"),
    ("公交车晚了{n}分钟。", "真不巧。"),
    ("鸡蛋要煮多久？", "煮{n}分钟，再放进冰水里5分钟。"),
    ("他们两个说的一样。", "那大概是真的。"),
    ("上周末的演唱会大约有{n}00人。", "听起来很挤。"),
    ("我每周去三次健身房。", "很好的习惯。"),
    ("没事，我找到了。", "那就好。"),
    ("我老是忘记钥匙放哪儿。", "门边装个挂钩会好些。"),
    ("手机只剩{n}%的电了。", "调低亮度可以省20%左右。"),
    ("有没有好的面包做法？", "面粉500克，水350克，盐10克，230度烤40分钟。"),
    ("那明天见。", "明天见！"),
    ("这个主意不错，我喜欢。", "很高兴你喜欢。"),
)
_ENGLISH_ANSWERS = ("Got it.", "Noted, thank you.", "I'll keep that in mind.", "Understood: {0}")
_CHINESE_ANSWERS = ("好的。", "记下了，谢谢。", "我会注意的。", "明白：{0}")


def _chatter(rng: Random, talk: Talk) -> Exchange:
    user, assistant = rng.choice(_of_talk(rng, talk, _ENGLISH_CHATTER, _CHINESE_CHATTER))
    return Exchange(user.format(n=rng.randrange(6, 60)), assistant.format(n=rng.randrange(6, 12)))


def _answered(rng: Random, talk: Talk, text: str) -> Exchange:
    answer = rng.choice(_of_talk(rng, talk, _ENGLISH_ANSWERS, _CHINESE_ANSWERS))
    return Exchange(text, answer.format(text))


def _of_talk(rng: Random, talk: Talk, english: Said, chinese: Said) -> Said:
    if talk == "mixed":
        return rng.choice((english, chinese))
    return english if talk == "english" else chinese
