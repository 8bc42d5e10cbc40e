"""What people ask for, in both languages, and which tool that is; and what asks for none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.memory.times.times import Times
from assistant.providers.local_requests import tool_for
from assistant.providers.local_words import times_in
from benchmarks.utterances import utterances

NOW = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)

#: What people say; none of it is from the corpus.
SAID = (
    ("create_event", "Pencil in coffee with Tom on Thursday at 10."),
    ("create_event", "I need to be at the vet at 4:30pm tomorrow, please put that down."),
    ("create_event", "Remind me to water the plants tonight at 8."),
    ("create_event", "Can you schedule a call with the landlord for Monday 9am?"),
    ("create_event", "Yoga class every Wednesday at 18:30, add it."),
    ("create_event", "Block Friday afternoon for the tax return."),
    ("create_event", "Set up a stand-up with the team tomorrow at half past nine"),
    ("create_event", "下周三上午十点约了房东看房，帮我记到日程里"),
    ("create_event", "今晚九点提醒我给妈妈打电话"),
    ("create_event", "周五下午两点安排一个面试"),
    ("create_event", "后天早上8点叫我起床去机场"),
    ("create_event", "帮我约一下明天中午和王总吃饭"),
    ("create_event", "每周一早上九点开例会，加一下"),
    ("create_event", "新建日程：12月8日下午4点家长会"),
    ("list_events", "Am I free on Saturday?"),
    ("list_events", "What's on my agenda this week?"),
    ("list_events", "Do I have anything on Thursday evening?"),
    ("list_events", "When is my appointment with the vet?"),
    ("list_events", "What have I got tomorrow?"),
    ("list_events", "Show me my schedule for next Monday"),
    ("list_events", "Any meetings today?"),
    ("list_events", "今天有什么安排？"),
    ("list_events", "我明天下午有空吗"),
    ("list_events", "这周还有哪些会？"),
    ("list_events", "我什么时候去看牙？"),
    ("list_events", "看一下周末的日程"),
    ("list_events", "下周二我有事吗？"),
    ("update_event", "Push the call with the landlord back to 11."),
    ("update_event", "Could you move yoga to Thursday instead?"),
    ("update_event", "Make it 5pm instead."),
    ("update_event", "Reschedule the interview for next Tuesday at 2pm"),
    ("update_event", "The vet appointment is at 5 now, please change it."),
    ("update_event", "move the product review to 4pm"),
    ("update_event", "Bring the stand-up forward to 9:15"),
    ("update_event", "把面试改到周四上午十点"),
    ("update_event", "看房推迟到下午三点"),
    ("update_event", "把它改到四点"),
    ("update_event", "例会提前到八点半吧"),
    ("update_event", "不对，应该是五点"),
    ("update_event", "家长会换到12月9日"),
    ("cancel_event", "Cancel the dentist."),
    ("cancel_event", "Scrap tomorrow's stand-up, please"),
    ("cancel_event", "Call off the interview on Friday"),
    ("cancel_event", "Take yoga off my calendar"),
    ("cancel_event", "周五的面试取消吧"),
    ("cancel_event", "家长会不去了，帮我删掉"),
    ("cancel_event", "把明天和王总的饭局取消掉"),
    ("save_memo", "Jot this down: the spare key is with Mrs. Fuller."),
    ("save_memo", "Take a note: the printer needs toner TN-2410"),
    ("save_memo", "Add milk and eggs to my notes"),
    ("save_memo", "记个笔记：打印机要换墨盒"),
    ("save_memo", "帮我记下来，备用钥匙在隔壁老张那里"),
    ("search_memos", "Where did I note down the toner type? Check my notes."),
    ("search_memos", "What do my memos say about the key?"),
    ("search_memos", "我的备忘录里有没有写打印机的事？"),
    ("search_memos", "找一下关于钥匙的笔记"),
    ("delete_memo", "Delete the note about the toner"),
    ("delete_memo", "把关于墨盒的备忘删了"),
    ("remember", "Please remember that I'm left-handed."),
    ("remember", "Keep in mind that my daughter is called Mia"),
    ("remember", "记住我女儿叫小雨"),
    ("remember", "别忘了我不吃香菜"),
    ("forget_fact", "Forget that I'm left-handed."),
    ("forget_fact", "忘掉我不吃香菜这件事"),
    ("recall", "What did I tell you last month about the garden?"),
    ("recall", "Have we talked about my car insurance before?"),
    ("recall", "我之前跟你说过我的车险吗？"),
    ("", "Hi there, nice to see you again"),
    ("", "What's the difference between a vet and a doctor?"),
    ("", "Can you recommend a good book about Rome?"),
    ("", "I'm so tired today."),
    ("", "Who was president in 1990?"),
    ("", "How long does it take to boil an egg?"),
    ("", "Explain recursion in two sentences."),
    ("", "That was a lovely dinner last night."),
    ("", "What time is it in Tokyo?"),
    ("", "Write an email to my boss saying I'll be late tomorrow"),
    ("", "My name is Peter and I live in Graz."),
    ("", "OK great, thanks a lot"),
    ("", "Is it better to exercise in the morning or in the evening?"),
    ("", "你是谁？"),
    ("", "帮我写一封请假邮件"),
    ("", "今天天气真好"),
    ("", "我昨晚没睡好"),
    ("", "推荐几本关于罗马的书"),
    ("", "什么是递归？"),
    ("", "东京现在几点？"),
    ("", "我叫陈明，住在杭州"),
    ("", "好的，谢谢你"),
    ("", "早上锻炼好还是晚上锻炼好？"),
    ("create_event", "Dinner reservation for four at Gino's, Saturday 7pm, please add."),
    ("create_event", "I've got a haircut on the 12th at 10am, stick it in my diary"),
    ("create_event", "Could you remind me tomorrow at noon to call the bank?"),
    ("create_event", "Schedule a one-hour review with Kim next Tuesday at 3"),
    ("create_event", "Train to Vienna on Friday at 6:42 am"),
    ("create_event", "Put the school play on the calendar for Dec 18, 5pm"),
    ("create_event", "周六上午九点半带孩子打疫苗，别让我忘了"),
    ("create_event", "麻烦把下周四下午三点的产品发布会加进日历"),
    ("create_event", "明早七点半闹钟叫我"),
    ("create_event", "12月20日晚上六点公司年会"),
    ("create_event", "预约周三下午四点的牙医"),
    ("list_events", "What does my week look like?"),
    ("list_events", "Anything on this evening?"),
    ("list_events", "Do I have time for lunch on Wednesday?"),
    ("list_events", "How busy am I next week?"),
    ("list_events", "What time is my train on Friday?"),
    ("list_events", "List all my appointments in December"),
    ("list_events", "明天要做什么？"),
    ("list_events", "下周忙不忙？"),
    ("list_events", "周三下午我约了谁？"),
    ("list_events", "帮我查一下下个月的日程"),
    ("list_events", "年会是几点开始？"),
    ("update_event", "Change the haircut to 11am"),
    ("update_event", "Can we do the review on Wednesday instead?"),
    ("update_event", "The school play got moved to 6pm"),
    ("update_event", "delay the call with the bank by a day, to Wednesday"),
    ("update_event", "年会改在七点"),
    ("update_event", "打疫苗那个挪到周日吧"),
    ("update_event", "发布会时间变了，改成下午四点"),
    ("cancel_event", "I can't make the haircut, cancel it please"),
    ("cancel_event", "Please delete my train on Friday from the calendar"),
    ("cancel_event", "The school play isn't happening, take it out"),
    ("cancel_event", "牙医不去了"),
    ("cancel_event", "帮我把年会从日历上删除"),
    ("save_memo", "Write down that the wifi password sheet is in the blue folder"),
    ("save_memo", "Note to self: call Anna about the boxes"),
    ("save_memo", "帮我记一下，快递单号是8830"),
    ("save_memo", "写个备忘：阳台的花要换盆"),
    ("search_memos", "Do I have any notes about the boxes?"),
    ("search_memos", "查查我的笔记里快递单号是多少"),
    ("delete_memo", "Remove the memo about Anna's boxes"),
    ("remember", "Remember: I prefer short answers."),
    ("remember", "请记住我对海鲜过敏"),
    ("forget_fact", "Please forget my old address"),
    ("recall", "What did we discuss about the kitchen last week?"),
    ("recall", "我们上次聊的那本书叫什么？"),
    ("", "Nice weather, isn't it?"),
    ("", "Give me three ideas for a birthday present"),
    ("", "How far is the moon?"),
    ("", "I love Fridays."),
    ("", "Does coffee keep you awake at night?"),
    ("", "Fix this sentence: he go to school"),
    ("", "When was the Eiffel Tower built?"),
    ("", "What should I cook tonight?"),
    ("", "晚安"),
    ("", "给我讲讲唐朝的历史"),
    ("", "今天心情不好"),
    ("", "埃菲尔铁塔是什么时候建的？"),
    ("", "晚饭吃什么好呢？"),
    ("", "哈哈，太好笑了"),
    ("create_event", "I'm seeing my accountant next Thursday at 2pm, can you save that?"),
    ("create_event", "Don't let me forget the rent on Friday at noon"),
    ("create_event", "Football practice Tuesdays at 6pm, put it in the calendar"),
    ("create_event", "New event: board meeting, December 14 at 9:30"),
    ("create_event", "Could you book me a slot for the gym tomorrow morning at 7?"),
    ("create_event", "下个月3号下午两点我要去办签证，提醒我一下"),
    ("create_event", "明晚七点和老同学聚餐"),
    ("create_event", "周日上午十一点帮我排一个视频会"),
    ("list_events", "what's going on this weekend"),
    ("list_events", "Have I got any appointments on the 14th?"),
    ("list_events", "When do I see the accountant?"),
    ("list_events", "Tell me my schedule for tomorrow"),
    ("list_events", "后天有安排吗"),
    ("list_events", "我这周五晚上有没有约？"),
    ("list_events", "把明天的日程给我看看"),
    ("list_events", "视频会几点？"),
    ("update_event", "The board meeting moved to 10:30"),
    ("update_event", "Let's do the gym at 8 instead"),
    ("update_event", "Please shift football practice to Wednesday"),
    ("update_event", "聚餐改成八点"),
    ("update_event", "签证那个往后推到四号"),
    ("update_event", "能把视频会提前到十点吗？"),
    ("cancel_event", "Football is off, remove it"),
    ("cancel_event", "I won't be going to the board meeting"),
    ("cancel_event", "聚餐不去了"),
    ("cancel_event", "把视频会删了吧"),
    ("save_memo", "Make a note that the boiler needs service in spring"),
    ("save_memo", "Please write this down: parking spot 47B"),
    ("save_memo", "记下：车位是47B"),
    ("search_memos", "What did I write down about parking?"),
    ("search_memos", "我记过车位号吗？看看备忘"),
    ("remember", "Remember my wife's name is Clara"),
    ("remember", "你要记住，我每天只喝一杯咖啡"),
    ("recall", "Which restaurant did we talk about the other day?"),
    ("", "Can you help me plan a healthy diet?"),
    ("", "I'm thinking of moving to Spain"),
    ("", "What's a good name for a cat?"),
    ("", "That meeting could have been an email"),
    ("", "Tell me something interesting"),
    ("", "My train was late again today"),
    ("", "Is 8pm too late for coffee?"),
    ("", "我最近总是失眠"),
    ("", "给我起个网名"),
    ("", "今天的会开了三个小时"),
    ("", "怎么学好英语？"),
    ("", "春节有什么习俗？"),
    ("", "你觉得我该换工作吗？"),
)

#: Words of requests, and no request.
TALK = (
    "I usually get up at 7am.",
    "The shop opens at 9am on Mondays.",
    "What if I move the dentist to 4pm?",
    "我平时早上七点起床",
    "要是明天三点取消会议会怎样",
    "I want to move to Berlin in March.",
    "The sky is clear tonight.",
    "I read a good book last night.",
    "We always put the kids to bed at 8.",
    "I set my alarm wrong this morning.",
    "The meeting today was so boring.",
    "How many days are there until Christmas?",
    "What do you think about working from home on Fridays?",
    "Remember the Titans is a great movie.",
    "What notes are in a C major chord?",
    "He said the schedule was tight.",
    "Do you like meetings?",
    "Is tomorrow a holiday?",
    "What day is it today?",
    "What's the weather like tomorrow?",
    "It's not clear to me why the sky is blue.",
    "My boss wants me to be free of stress.",
    "What happens if a flight is cancelled?",
    "I forgot my umbrella today.",
    "Can you remove the commas from this sentence: a, b, c",
    "She had to cancel her trip last week.",
    "今天开会好累",
    "我打算明年搬到柏林",
    "这个月的账单好贵",
    "我们昨天订了外卖",
    "明天会下雨吗？",
    "周末去哪儿玩好？",
    "今天星期几？",
    "会议纪要应该包含什么内容？",
    "取消和删除有什么区别？",
    "我忘了带伞",
    "他说这周很忙",
)

#: What asks to change the event that was spoken of before.
OF_THE_LAST_EVENT = (
    "Make it 5pm instead.",
    "No, at 4pm.",
    "Can you move it to Friday?",
    "把它改到四点",
    "不对，应该是五点",
    "改到后天上午吧",
)


def asked(said: str, last_id: str = "") -> str:
    times = times_in(said, Times(lambda: NOW).expressions)
    return tool_for(said, times, "event" if last_id else "")


@pytest.mark.parametrize(
    ("tool", "said"), [one for one in SAID if one[1] not in OF_THE_LAST_EVENT], ids=lambda one: one
)
def test_a_request_is_told_from_another_and_from_talk(tool: str, said: str) -> None:
    assert asked(said) == tool


@pytest.mark.parametrize("said", OF_THE_LAST_EVENT)
def test_what_was_spoken_of_is_changed(said: str) -> None:
    assert asked(said, "ek3f9") == "update_event"


def test_it_is_told_for_the_corpus() -> None:
    wrong = [
        one.said
        for one in utterances()
        if asked(one.said) != (one.calls[0].name if one.calls else "")
    ]

    assert wrong == []


@pytest.mark.parametrize("said", TALK)
def test_talk_that_sounds_like_a_request_is_none(said: str) -> None:
    assert asked(said) == ""


def test_what_is_very_long_was_pasted() -> None:
    assert asked("Cancel the dentist. " + "They wrote to me. " * 40) == ""
