"""What a text about the user states: its kind, and what it replaces."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.facts.fact_rules import (
    asks_for_before,
    is_negative,
    kind_of,
    replaces,
    retraction_of,
    same_words,
    statement,
)
from assistant.messages import FactKind

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "rule",
            "Always answer in English|never use emojis|From now on use metric units|Call me Bob"
            "|以后都用中文回答|永远不要用表情符号|请一直用公制单位|叫我小王"
            "|Please don't ever use emojis",
        ),
        (
            "preference",
            "I prefer window seats|I like green tea|I hate Mondays|My favourite colour is blue"
            "|The user likes jazz|I'd rather take the train|我喜欢绿茶|我更喜欢靠窗的座位"
            "|我讨厌香菜|I'm vegetarian|I can't stand cilantro"
            "|我特别爱看推理小说|我最喜欢的颜色是蓝色",
        ),
        (
            "about",
            "My name is Anna|I work at Siemens|I live in Berlin|My birthday is 4 May"
            "|I'm allergic to nuts|My sister lives in Rome|I have a dog called Rex|我住在北京"
            "|我叫李四|我的生日是5月4日|我对花生过敏"
            "|My phone number is 030 1234|User works as a nurse"
            "|我在华为工作|我妈妈的生日是3月1日",
        ),
        ("other", "The shop closes at eight|The gym opens at seven|图书馆八点开门"),
    ],
)
def test_the_kind_is_told_by_the_wording(kind: FactKind, texts: str) -> None:
    assert {text: kind_of(text) for text in texts.split("|")} == dict.fromkeys(
        texts.split("|"), kind
    )


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My phone number is 030 1234", "My new phone number is 040 9876"),
        ("My phone number is 030 1234", "my phone number is now 040 9876"),
        ("I live in Berlin", "I moved to Munich"),
        ("I live in Berlin", "We've just moved to Munich"),
        ("User lives in Berlin", "I live in Munich"),
        ("I work at Siemens", "I started at Bosch"),
        ("I work as a nurse", "I'm a teacher now"),
        ("I work as a nurse", "I work as a doctor at the Charité"),
        ("My profession is nurse", "I work as a teacher"),
        ("Call me Bob", "From now on, call me Robert"),
        ("My name is Anna Weber", "My name is Anna Schmidt"),
        ("I prefer window seats", "I prefer aisle seats now"),
        ("I prefer tea to coffee", "I prefer coffee to tea"),
        ("I like coffee", "I don't like coffee any more"),
        ("I like coffee", "I hate coffee"),
        ("I like coffee, the stronger the better", "I no longer like coffee"),
        ("I eat meat", "I no longer eat meat"),
        ("I no longer eat meat", "I eat meat again"),
        ("I live in Berlin", "I no longer live in Berlin"),
        ("I have a dog called Rex", "I no longer have a dog"),
        ("I'm allergic to nuts", "I'm not allergic to nuts"),
        ("I smoke", "I used to smoke"),
        ("I go to yoga on Mondays", "I don't go to yoga any more"),
        ("I no longer eat meat", "I eat meat twice a week"),
        ("我每天早上跑步", "我不再跑步了"),
        ("Never use emojis", "Always use emojis"),
        ("Always answer in English", "Please answer in German from now on"),
        ("My favourite colour is blue", "My favorite colour is green"),
        ("My doctor is Dr. Weber", "My doctor is Dr. Smith"),
        ("Anna's birthday is 4 May", "Anna's birthday is 5 May"),
        ("My sister's birthday is 4 May", "My sister's birthday is actually 5 May"),
        ("My car is a Volvo", "My car is now a Toyota"),
        ("The gym code is 4411", "The gym code is 8852"),
        ("Use metric units", "Use imperial units instead"),
        ("我住在北京", "我搬到上海了"),
        ("我叫李四", "我的名字是李思"),
        ("我的电话是12345678", "我的新电话号码是87654321"),
        ("我在华为工作", "我现在在腾讯工作"),
        ("我在华为工作", "我不在华为工作了"),
        ("我是老师", "我现在是律师"),
        ("叫我小王", "以后叫我老王"),
        ("我喜欢绿茶", "我不喜欢绿茶了"),
        ("我最喜欢的颜色是蓝色", "我最喜欢的颜色是绿色"),
        ("我更喜欢靠窗的座位", "我现在更喜欢靠过道的座位"),
        ("我对花生过敏", "我对花生不过敏"),
        ("以后都用英文回答", "以后都用中文回答"),
        ("安娜的生日是5月4日", "安娜的生日是5月5日"),
        ("I live in Berlin", "我住在上海"),
    ],
)
def test_the_later_of_two_on_the_same_thing_takes_the_place(older: str, newer: str) -> None:
    assert replaces(statement(newer), statement(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My birthday is 4 May", "Anna's birthday is 5 May"),
        ("Anna's birthday is 4 May", "Ben's birthday is 5 May"),
        ("My sister's birthday is 4 May", "My brother's birthday is 5 May"),
        ("My daughter's birthday is 4 May", "My daughter's birthday is 5 June"),
        ("I live in Berlin", "My sister lives in Rome"),
        ("I live in Berlin", "Anna lives in Rome"),
        ("Anna lives in Paris", "Ben now lives in Rome"),
        ("I have a dog called Rex", "I have a dog called Max"),
        ("I have a dog called Rex", "I have a dog called Max now"),
        ("I have a dog called Rex", "Actually I have a dog called Max"),
        ("My dog is a beagle", "My dog is now four years old"),
        ("My dog is a beagle", "My dog is now 4 years old"),
        ("My boss is Ms. Kim", "My boss is on holiday"),
        ("My wife is Anna", "My wife is 30 years old"),
        ("My wife is Anna", "My wife is a vegetarian"),
        ("My wife is Anna", "My wife is German"),
        ("I work as a nurse", "My job is stressful"),
        ("I work as a nurse", "My job is a nightmare"),
        ("My phone number is 030 1234", "My phone is at 14% already"),
        ("我的老板是王经理", "我的老板是个好人"),
        ("My work phone number is 1", "My phone number is 2"),
        ("I work as a nurse at the Charité", "I work at Vivantes now"),
        ("I live in Berlin and I love jazz", "I live in Munich"),
        ("I like coffee", "I like tea"),
        ("I prefer short answers", "I prefer formal answers"),
        ("I prefer window seats on trains", "I prefer aisle seats on planes now"),
        ("I'm allergic to nuts", "I'm allergic to cats"),
        ("I work at Siemens", "I also work at Bosch"),
        ("I live in Munich", "I no longer live in Berlin"),
        ("I go to yoga on Tuesdays", "I no longer go to yoga on Mondays"),
        ("I met Anna at Siemens", "I no longer work at Siemens"),
        ("Always answer in English", "Always use metric units"),
        ("Anna likes Ben", "Ben likes Anna"),
        ("I live in Berlin", "I lived in Rome as a child"),
        ("我的生日是5月4日", "安娜的生日是5月5日"),
        ("安娜的生日是5月4日", "小明的生日是5月5日"),
        ("我妈妈的生日是5月4日", "我爸爸的生日是5月5日"),
        ("我住在北京", "我姐姐住在上海"),
        ("我住在北京", "小明现在住在上海"),
        ("我有一只狗叫旺财", "我有一只狗叫来福"),
        ("我喜欢绿茶", "我喜欢咖啡"),
        ("我在华为工作", "我也在腾讯工作"),
        ("我对花生过敏", "我对猫毛过敏"),
        ("我在北京工作", "我在华为工作"),
        ("我是老师", "我是四川人"),
    ],
)
def test_of_different_people_and_things_and_in_doubt_both_stay(older: str, newer: str) -> None:
    assert not replaces(statement(newer), statement(older))


def test_who_says_that_it_is_an_update_needs_no_sure_wording_but_the_same_people() -> None:
    older = statement("I prefer short answers")
    assert replaces(statement("I prefer detailed answers"), older, told=True)
    assert not replaces(statement("The shop closes at eight"), older, told=True)
    name = statement("My name is Robert Lindqvist")
    assert not replaces(statement("I call you Robert"), name, told=True)
    anna = statement("Anna's dog is called Rex")
    assert not replaces(statement("Ben's dog is called Max"), anna, told=True)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_taken(one: str, other: str) -> None:
    replaces(statement(one), statement(other), told=True)
    kind_of(one)
    same_words(one)


def test_a_retraction_may_have_further_words() -> None:
    assert retraction_of("I don't go to yoga on Mondays any more", "I go to yoga on Mondays")
    assert retraction_of("我不再学法语了，太难", "我在学法语")
    assert not retraction_of("I go to yoga on Mondays", "I go to yoga on Mondays")
    assert not retraction_of("Anna's yoga is no longer on Mondays", "I go to yoga on Mondays")
    assert not retraction_of("I no longer eat meat", "I go to yoga on Mondays")


def test_what_denies() -> None:
    assert is_negative("I don't like coffee")
    assert is_negative("我不吃肉")
    assert not is_negative("I like coffee")
    assert not is_negative("我吃肉")


def test_the_same_words_are_the_same_but_for_marks_case_and_our_dates() -> None:
    assert same_words("I like  Tea.") == same_words("i like tea")
    assert same_words("I fly tomorrow (2026-12-01)") == same_words("I fly tomorrow")
    assert same_words("room 12") != same_words("room 1 2")


@pytest.mark.parametrize(
    "question",
    "What did I use to drink?|I used to smoke, didn't I?|Where did I live before"
    "|What was my previous job?|I once lived in Rome, where?|What did I say earlier?"
    "|我以前住哪里？|之前我用什么手机|我原来在哪里工作".split("|"),
)
def test_what_asks_for_then(question: str) -> None:
    assert asks_for_before(question)


@pytest.mark.parametrize(
    "question",
    "Do it before noon|Is there a meeting before lunch?|Remind me once a week|I'm used to it"
    "|Let's meet earlier|Call me before I leave|会议之前提醒我|吃饭之前|原来如此|过去一周"
    "|What did I like in April?".split("|"),
)
def test_what_only_has_such_a_word_asks_for_now(question: str) -> None:
    assert not asks_for_before(question)
