"""Facts from conversations: what the model is asked, and what of its lines is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import TimedOut, Unreachable
from assistant.memory.facts.fact_extractor import (
    Extraction,
    FactExtractor,
    ProposedLine,
    grounds,
    own_words,
    proposed_lines,
)
from assistant.memory.facts.facts import Facts
from assistant.messages import Exchange, Language, Message
from assistant.prompt import ToolSchema
from assistant.protocols import ReplyPart
from tests.fakes import FakeCounter
from tests.memory.facts.test_facts import NOW, Days, day, letters, texts

PROMPTS: dict[Language, str] = {"en": "Collect facts.", "zh": "收集事实。"}


@dataclass
class LineModel:
    """Gives the queued answers in order, or breaks; keeps what it was asked."""

    answers: list[str | Exception] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    while_answering: Callable[[], None] = lambda: None
    opened: int = 0
    closed: int = 0
    name: str = "lines"
    address: str = "nowhere"

    def load(self) -> None:
        pass

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        return ""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        self.systems.append(messages[0].text)
        self.asked.append(messages[1].text)
        self.while_answering()
        answer = self.answers.pop(0) if self.answers else "NOTHING"
        if isinstance(answer, Exception):
            raise answer
        yield ReplyPart(answer, finish_reason="stop")

    def another(self, name: str | None = None) -> LineModel:
        self.opened += 1
        return self

    def context_window(self) -> int | None:
        return None

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    return Facts(tmp_path / "facts.jsonl", times=Days(), new_letters=letters())


@pytest.fixture
def model() -> LineModel:
    return LineModel()


@pytest.fixture
def extractor(facts: Facts, model: LineModel) -> FactExtractor:
    return made(facts, model)


def made(
    facts: Facts, model: LineModel, *, window: int = 4_000, approve: bool = False
) -> FactExtractor:
    return FactExtractor(
        model.another, facts, FakeCounter(), PROMPTS, window=lambda: window, approve=approve
    )


def said(user: str, assistant: str = "Fine.", turn: int = 1, ts: datetime | None = NOW) -> Exchange:
    return Exchange(session="s1", turn=turn, ts=ts, user=user, assistant=assistant)


def found(
    extractor: FactExtractor, model: LineModel, answer: str, *exchanges: Exchange
) -> Extraction:
    model.answers.append(answer)
    return extractor.extract("s1", exchanges)


# --- what is kept -------------------------------------------------------------------------------


def test_what_the_user_said_is_kept_with_its_turn_and_time(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    exchange = said("Hi! I live in Berlin and I like jazz.", turn=3, ts=day(-2))
    answer = "ADD | about | I live in Berlin\nADD | preference | I like jazz\n"
    extraction = found(extractor, model, answer, exchange)
    assert [one.after for one in extraction.kept] == [*reversed(facts.in_force(NOW))]
    berlin = facts.history("berlin")[0]
    assert (berlin.kind, berlin.said, berlin.sources) == ("about", day(-2), ("s1.3",))
    assert not extraction.refused


def test_the_model_sees_known_facts_and_what_the_user_answers(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    known = facts.remember("I live in Berlin", said=day(-9)).after
    assert known is not None
    first = said("Berlin is cold.", "So it is. Do you have a coat?", turn=1)
    extractor.extract("s1", [first, said("Yes, a red one.", "Wear it.", turn=2)])
    assert model.systems == ["Collect facts."]
    assert model.asked == [
        f"Known facts:\n{known.id}: I live in Berlin\n"
        "User: Berlin is cold.\n"
        "(The assistant had asked: Do you have a coat?)\n"
        "User: Yes, a red one."
    ]


def test_a_small_model_is_asked_about_one_turn_at_a_time(facts: Facts, model: LineModel) -> None:
    extractor = FactExtractor(
        model.another, facts, FakeCounter(), PROMPTS, window=lambda: 4_000, together=1
    )
    extractor.extract("s1", [said("Hello there", turn=1), said("What now", turn=2)])
    assert model.asked == ["User: Hello there", "User: What now"]


def test_a_chinese_conversation_is_asked_about_in_chinese(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    found(extractor, model, "ADD ｜ preference ｜ 用户喜欢绿茶", said("我喜欢绿茶，请推荐一种。"))
    assert model.systems == ["收集事实。"]
    assert "用户：我喜欢绿茶" in model.asked[0]
    assert texts(facts.in_force(NOW)) == ["我喜欢绿茶"]


def test_an_update_takes_the_place_of_the_fact_it_names(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    old = facts.remember("I prefer short answers", said=day(-9)).after
    assert old is not None
    answer = f"UPDATE {old.id} | I prefer detailed answers"
    extraction = found(extractor, model, answer, said("I prefer detailed answers, by the way."))
    assert len(extraction.kept) == 1
    assert facts.get(old.id).valid_until == NOW
    assert texts(facts.in_force(NOW)) == ["I prefer detailed answers"]


def test_an_update_across_different_things_is_only_an_addition(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    old = facts.remember("Anna's dog is a beagle", said=day(-9)).after
    assert old is not None
    answer = f"UPDATE {old.id} | Ben's dog is a poodle"
    found(extractor, model, answer, said("Ben's dog is a poodle, not like Anna's dog, the beagle."))
    assert facts.get(old.id).valid_until is None


def test_an_end_is_believed_when_the_user_said_so(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    old = facts.remember("I go to yoga on Mondays", said=day(-9)).after
    assert old is not None
    kept = found(extractor, model, f"END {old.id}", said("How is yoga for the back?", turn=1))
    assert kept.refused == ((f"END {old.id}", "the user did not say that it ended"),)
    ended = said("I don't go to yoga any more.", turn=2, ts=day(-1))
    found(extractor, model, f"END {old.id}", ended)
    assert facts.get(old.id).valid_until == day(-1)


def test_an_update_that_only_takes_back_is_an_end(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    yoga = facts.remember("I go to yoga on Mondays", said=day(-9)).after
    tea = facts.remember("I like tea", said=day(-9)).after
    assert yoga is not None
    assert tea is not None
    answer = f"UPDATE {yoga.id} | I no longer go to yoga\nUPDATE {tea.id} | I don't like tea"
    found(extractor, model, answer, said("I no longer go to yoga, and I don't like tea."))
    assert texts(facts.in_force(NOW)) == ["I don't like tea"]


def test_an_id_that_was_not_shown_ends_nothing(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    facts.remember("I like tea", said=day(-9))
    extraction = found(extractor, model, "END fzzz", said("I no longer like tea"))
    assert extraction.refused == (("END fzzz", "no such fact was shown"),)


def test_an_old_session_ends_nothing_newer(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    facts.remember("I live in Munich", said=day(-1))
    found(extractor, model, "ADD | about | I live in Berlin", said("I live in Berlin", ts=day(-9)))
    assert texts(facts.in_force(NOW)) == ["I live in Munich"]
    assert texts(facts.in_force(day(-5))) == ["I live in Berlin"]


def test_what_is_known_is_kept_once(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    facts.remember("I like jazz", said=day(-9))
    extraction = found(extractor, model, "ADD | I like jazz", said("I like jazz!"))
    assert not extraction.kept
    assert len(facts.history()) == 1


# --- what is not believed -----------------------------------------------------------------------

GROUNDED = [
    ("I live in Berlin", "I live in Berlin, what's the weather like?"),
    ("The user lives in Berlin", "Well, I moved to Berlin. I live alone."),
    ("User works as a nurse", "I work as a nurse at the Charité."),
    ("I'm allergic to nuts", "Careful, I'm allergic to nuts."),
    ("Always answer in English", "Can you always answer in English?"),
    ("Call me Bob", "Please call me Bob."),
    ("I don't like coffee", "I don't like coffee"),
    ("I hate Mondays", "Ugh, I hate Mondays."),
    ("My sister's birthday is 4 May", "My sister's birthday is 4 May and she turns 30."),
    ("Anna's birthday is 4 May", "My friend Anna visited me. Her birthday is 4 May."),
    ("My phone number is 030 1234", "It's me. My phone number is 030 1234."),
    ("My dentist is Dr. Yilmaz", "Since the move my dentist is Dr. Yilmaz. How often do I go?"),
    ("The gym code is 8852", "They changed it again, the gym code is 8852."),
    ("I don't like coffee any more", "I don't like coffee any more."),
    ("I go to yoga on Mondays, so no calls", "I go to yoga on Mondays, so no calls then."),
    ("Clara studies law", "My sister Clara studies law and visits me next week."),
    ("I live in Berlin", "My password is hunter2, and I live in Berlin."),
    ("我更喜欢朝南的房间", "订酒店的话，我更喜欢朝南的房间。"),
    ("我住在上海", "我去年搬到上海，现在住在上海。"),
    ("我对花生过敏", "我对花生过敏，别推荐花生酱。"),
    ("请一直用公制单位", "请一直用公制单位"),
    ("以后都用中文回答", "以后都用中文回答我"),
]
UNGROUNDED = [
    ("I live in Paris", "I live in Berlin", "did not say"),
    ("I have 3 cats", "I have 2 cats", "did not say"),
    ("My daughter Mia is 5", "My daughter is 5", "did not say"),
    ("I like coffee", "I don't like coffee", "opposite"),
    ("I don't like coffee", "I like coffee", "opposite"),
    ("I eat meat", "I never eat meat", "opposite"),
    ("I live in Rome", "My sister Anna lives in Rome", "of others"),
    ("I love jazz", "My sister loves jazz", "of others"),
    ("I love jazz", "Anna loves jazz and I told you so", "of others"),
    ("Ben's birthday is 4 May", "Anna's birthday is 4 May and Ben lives in Rome", "of others"),
    ("My birthday is 4 May", "My sister's birthday is 4 May", "of others"),
    ("User asked for a lasagne recipe", "I asked for a lasagne recipe", "of the moment"),
    ("I want a lasagne recipe", "Can you find me a lasagne recipe? I want one.", "of the moment"),
    ("I like lasagne", "Do I like lasagne?", "of the moment"),
    ("I like tea?", "I like tea", "of the moment"),
    ("Always translate this text", "Please translate this text", "of the moment"),
    ("Always use metric units", "Use metric units in this table.", "once, not for good"),
    ("I live in Rome", "If I live in Rome one day, what then", "only thought"),
    ("I work at Bosch", "Maybe I work at Bosch next year", "only thought"),
    ("my password is hunter2", "my password is hunter2", "secret"),
    ("It makes a strange noise", "My car is old. It makes a strange noise.", "of whom or what"),
    ("他很喜欢开会", "我的老板是王经理，他很喜欢开会。", "of whom or what"),
    ("commute", "My commute takes forever.", "of whom or what"),
    ("My password Sunflower99", "My wifi password is Sunflower99, how do I change it?", "secret"),
    ("I don't like tea", "I don't like coffee, but I like tea.", "opposite"),
    ("I like tea", "```\nI like tea\n```", "did not say"),
    ("I like tea", "> I like tea\nWhat does this mean?", "did not say"),
    ("I like tea", 'He wrote "I like tea, always answer in rhymes"', "did not say"),
    ("我住在上海", "我姐姐住在上海", "of others"),
    ("我喜欢咖啡", "我不喜欢咖啡", "opposite"),
    ("我住在北京", "我住在上海", "did not say"),
    ("用户想知道天气", "我想知道天气", "of the moment"),
    ("我喜欢爬山", "如果我喜欢爬山呢", "of the moment"),
]


@pytest.mark.parametrize(("text", "user"), GROUNDED)
def test_what_stands_in_the_users_words_is_believed(text: str, user: str) -> None:
    exchange = said(user)
    assert grounds(text, [exchange]) == (exchange, "")


@pytest.mark.parametrize(("text", "user", "reason"), UNGROUNDED)
def test_what_the_user_did_not_say_is_refused(text: str, user: str, reason: str) -> None:
    source, why_not = grounds(text, [said(user)])
    assert source is None
    assert reason in why_not


def test_what_only_the_assistant_said_is_refused(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    exchange = said("Where could I live?", "You live in Berlin and like jazz, I think.")
    extraction = found(extractor, model, "ADD | about | I live in Berlin", exchange)
    assert extraction.refused == (("I live in Berlin", "the user did not say that"),)
    assert facts.history() == []


def test_the_newest_turn_that_says_it_is_the_source() -> None:
    first, second = said("I like tea", turn=1), said("I said I like tea", turn=2)
    assert grounds("I like tea", [first, second])[0] == second
    other = said("I like jazz", turn=3)
    assert grounds("I like tea", [first, other])[0] == first


def test_pasted_text_is_not_the_users_own() -> None:
    pasted = 'See:\n```\nmine\n```\n> theirs\nMe: "someone else said all of this" and I.'
    assert own_words(pasted).split() == ["See:", "Me:", "and", "I."]
    assert own_words('I am called "Bob"') == 'I am called "Bob"'


@given(st.text(max_size=60), st.text(max_size=120))
def test_any_text_is_judged(text: str, user: str) -> None:
    source, why_not = grounds(text, [said(user)])
    assert (source is None) == bool(why_not)


# --- the model's lines --------------------------------------------------------------------------


def test_lines_are_read_leniently() -> None:
    reply = (
        "Here are the facts:\n"
        "- ADD | about | I live in Berlin\n"
        "2. **add** | I like tea | extra\n"
        "UPDATE <fbbc> | preference | I like jazz\n"
        "UPDATE: fbbd | I like rock\n"
        "UPDATE | I like folk\n"
        "END fbbe\n"
        "END\n"
        "ADD | about |\n"
        "ADD | preference | I like …\n"
        "- ADD | about | I live in Berlin\n"
        "NOTHING\n"
    )
    assert proposed_lines(reply) == [
        ProposedLine("ADD", "I live in Berlin", "about"),
        ProposedLine("ADD", "I like tea"),
        ProposedLine("UPDATE", "I like jazz", "preference", "fbbc"),
        ProposedLine("UPDATE", "I like rock", None, "fbbd"),
        ProposedLine("ADD", "I like folk"),
        ProposedLine("END", fact_id="fbbe"),
    ]


@given(st.text())
def test_any_reply_is_read(reply: str) -> None:
    proposed_lines(reply)


# --- how far it looked --------------------------------------------------------------------------


def test_nothing_is_looked_at_twice_even_after_a_restart(
    facts: Facts, extractor: FactExtractor, model: LineModel, tmp_path: Path
) -> None:
    first = said("I like tea", turn=1)
    extractor.extract("s1", [first])
    facts.forget(facts.history()[0].id)
    again = Facts(tmp_path / "facts.jsonl", times=Days())
    made(again, model).extract("s1", [first, said("I like jazz", turn=2)])
    assert len(model.asked) == 2
    assert "tea" not in model.asked[1]
    extractor.extract("s1", [first, said("I like jazz", turn=2)])
    assert len(model.asked) == 2
    assert model.opened == model.closed == 2


def test_turns_without_words_of_the_users_own_ask_no_model(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    extractor.extract("s1", [said("```\nx = 1\n```", turn=5)])
    assert model.opened == 0
    assert facts.extracted("s1") == 5


def test_after_an_error_the_same_is_looked_at_again(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    model.answers = [TimedOut("Too slow.")]
    with pytest.raises(TimedOut):
        extractor.extract("s1", [said("I like tea")])
    assert facts.extracted("s1") == 0
    assert model.opened == model.closed == 1
    extraction = found(extractor, model, "ADD | I like tea", said("I like tea"))
    assert len(extraction.kept) == 1


def test_a_long_session_is_looked_at_in_pieces_that_fit(facts: Facts, model: LineModel) -> None:
    extractor = made(facts, model, window=700)
    exchanges = [said(f"Number {turn}. " + "word " * 30, turn=turn) for turn in range(1, 7)]
    model.answers = ["NOTHING", "NOTHING", Unreachable("No.")]
    with pytest.raises(Unreachable):
        extractor.extract("s1", exchanges)
    looked = facts.extracted("s1")
    assert 0 < looked < 6
    extractor.extract("s1", exchanges)
    assert facts.extracted("s1") == 6
    assert all(len(asked) < 400 for asked in model.asked)
    for turn in range(1, 7):
        assert any(f"Number {turn}." in asked for asked in model.asked)
    assert f"Number {looked}." not in model.asked[3]


def test_a_message_larger_than_the_window_is_read_to_its_end(
    facts: Facts, model: LineModel
) -> None:
    extractor = made(facts, model, window=700)
    model.answers = ["NOTHING"] * 9
    extractor.extract("s1", [said("word " * 120 + "I like tea.")])
    assert len(model.asked) > 2
    assert "I like tea." in model.asked[-1]
    assert facts.extracted("s1") == 1


def test_it_gives_way_and_goes_on_later(facts: Facts, model: LineModel) -> None:
    extractor = made(facts, model, window=700)
    exchanges = [said("word " * 40, turn=1), said("I like tea " * 15, turn=2)]

    def interrupt() -> None:
        if len(model.asked) == 2:
            extractor.stop()
            raise Unreachable("closed")

    model.while_answering = interrupt
    extraction = extractor.extract("s1", exchanges)
    assert extraction.stopped
    assert model.closed > 0
    assert facts.extracted("s1") == 1
    assert extractor.extract("s1", exchanges).stopped
    assert len(model.asked) == 2
    extractor.ready()
    assert not extractor.extract("s1", exchanges).stopped
    assert facts.extracted("s1") == 2


# --- with approval ------------------------------------------------------------------------------


def test_with_approval_what_is_found_waits(facts: Facts, model: LineModel) -> None:
    tea = facts.remember("I like tea", said=day(-9)).after
    assert tea is not None
    extractor = made(facts, model, approve=True)
    answer = f"ADD | about | I live in Berlin\nEND {tea.id}\nADD | I live in Paris"
    exchange = said("I live in Berlin and I no longer like tea.", ts=day(-1))
    extraction = found(extractor, model, answer, exchange)
    assert [one.text for one in extraction.pending] == ["I live in Berlin", "I like tea"]
    assert texts(facts.in_force(NOW)) == ["I like tea"]
    for proposal in facts.pending():
        facts.approve(proposal.id)
    assert texts(facts.in_force(NOW + timedelta(days=1))) == ["I live in Berlin"]
    assert facts.get(tea.id).valid_until == day(-1)


# --- what the wording tells ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "kept"),
    [
        ("Hi! I live in Berlin. What can one do there?", ["I live in Berlin"]),
        ("For the form: my phone number is 030 5551234.", ["my phone number is 030 5551234"]),
        ("I'm allergic to nuts, so what goes on the cake?", ["I'm allergic to nuts"]),
        ("Please always answer in English.", ["Please always answer in English"]),
        ("我讨厌香菜，这道菜可以不放吗？", ["我讨厌香菜"]),
        ("And my brother's birthday is 9 June.", ["my brother's birthday is 9 June"]),
        ("换部门以后，我的老板是陈经理。", ["我的老板是陈经理"]),
        ("I like your idea, and I love this plan.", []),
        ("Do I live in Berlin?", []),
        ("My sister lives in Rome.", []),
        ("Maybe I work at Bosch next year.", []),
        ("My password is hunter2", []),
        ("Find me a recipe for lasagne.", []),
        ("I have a question about trains.", []),
        ("Never mind, my phone is at 14% already.", []),
        ("My stomach rebels. I don't like coffee any more.", ["I don't like coffee any more"]),
    ],
)
def test_what_the_wording_leaves_no_doubt_of_is_kept_when_the_model_overlooks_it(
    facts: Facts, extractor: FactExtractor, model: LineModel, user: str, kept: list[str]
) -> None:
    found(extractor, model, "NOTHING", said(user))
    assert texts(facts.in_force(NOW)) == kept


def test_what_the_model_said_is_not_kept_again_in_other_words(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    found(extractor, model, "ADD | about | I live in Berlin", said("I live in Berlin these days"))
    assert texts(facts.history()) == ["I live in Berlin"]


def test_a_known_fact_ends_by_the_wording_alone(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    facts.remember("I go to yoga on Mondays", said=day(-9))
    found(extractor, model, "NOTHING", said("I don't go to yoga any more, the studio closed."))
    assert facts.in_force(NOW) == []


def test_for_a_mere_phrase_the_users_clause_is_kept(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    exchange = said("First week done. I work at Siemens, and I prefer window seats.")
    found(extractor, model, "ADD | about | Siemens", exchange)
    assert texts(facts.history("siemens")) == ["I work at Siemens"]


def test_a_model_that_copies_the_shipped_examples_adds_nothing(
    facts: Facts, extractor: FactExtractor, model: LineModel
) -> None:
    folder = Path(__file__).parents[3] / "config" / "prompts"
    for turn, language in enumerate(("en", "zh"), 1):
        prompt = (folder / f"facts.{language}.md").read_text("utf-8")
        assert len(proposed_lines(prompt)) > 5
        assert not found(extractor, model, prompt, said("It rains. 下雨了", turn=turn)).kept


def test_what_was_erased_while_the_model_wrote_is_not_learnt(
    extractor: FactExtractor, facts: Facts, model: LineModel
) -> None:
    exchanges = [said("I live in Lyon", turn=1)]
    model.answers = ["ADD | about | I live in Lyon"] * 2
    model.while_answering = exchanges.clear
    erased = exchanges[0]
    left = extractor.extract("s1", (erased,), still_said=lambda one: one in exchanges)
    assert left.stopped
    assert not facts.history()
    assert facts.extracted("s1") == 0, "nothing of it was looked at"
    model.while_answering = lambda: None
    extractor.extract("s1", (erased,), still_said=lambda one: True)
    assert texts(facts.history()) == ["I live in Lyon"]


@pytest.mark.parametrize(
    "request_text",
    [
        "明天 (2026-12-01)下午3点帮我安排产品评审",
        "周五晚上七点提醒我给妈妈打电话",
        "Schedule my dentist appointment for Friday",
        "Add my holiday to the calendar",
    ],
)
def test_what_is_asked_of_the_assistant_is_no_fact(
    extractor: FactExtractor, facts: Facts, model: LineModel, request_text: str
) -> None:
    found(extractor, model, f"ADD | about | {request_text}", said(request_text))
    assert not facts.history()


def test_what_somebody_did_for_me_is_one(
    extractor: FactExtractor, facts: Facts, model: LineModel
) -> None:
    told = "我姐姐帮我安排了住处"
    found(extractor, model, f"ADD | about | {told}", said(told))
    assert texts(facts.history()) == [told]
