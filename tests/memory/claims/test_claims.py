"""What a reply claims to have done, told from what it offers, denies or asks."""

from __future__ import annotations

import pytest

from assistant.memory.claims.claims import claims_a_change

CLAIMS = """
I've added the product review to your calendar.
I have scheduled the meeting for tomorrow at 3 pm.
Done! I moved it to 4 pm.
Your meeting has been moved to Friday.
The event has been successfully cancelled.
Noted: you are allergic to peanuts.
Saved.
I'll remember that you prefer window seats.
Got it, I will keep that in mind.
I've set a reminder for 9 am.
Your appointment is now booked.
I have updated your memo.
Sure, I've noted that down. Anything else?
I just deleted the memo about the car.
Event created.
Event created: Review, Tuesday 3pm
Reminder set for 5pm.
Memo saved: buy milk.
The meeting is now at 4pm.
Your meeting has moved to 4 pm
I will remind you at 5
I've saved it, no need to worry.
I've added it. If you want to change it, tell me.
I've moved it to Friday, anything else?
✅ **Event created**
- **Memo saved:** buy milk
### Reminder set for 9:00
Okay, saved!
Added to your calendar: Dentist, Tue 9:00.
It has been added to your calendar.
It's now on Friday at 3 pm.
That's been noted.
Your allergy has been saved.
I went ahead and booked the table for 7 pm.
You asked me to move the meeting, and I've moved it.
I can confirm that your appointment has been moved to Monday.
I couldn't find the old memo, but I've saved a new one.
I've made a note of it.
The dentist appointment was successfully moved to Friday.
I've moved your review forward by an hour.
All your reminders have been deleted.
I've removed oat milk from your shopping list.
I moved yesterday's meeting to Friday.
Your standup now starts at 9:30, and the calendar has been updated.
Cancelled.
已为您安排明天下午3点的产品评审。
好的，我已经把会议改到四点了。
我记住了，你对花生过敏。
我会记住的。
已经帮你保存了这条备忘录。
会议已取消。
安排好了，明天下午三点见。
好的，已将该日程添加到您的日历中。
记下了！
备忘录已经删除。
改成四点了
会议挪到下午四点了
约好了
已经帮您把会议时间改到四点
好的，会议改到四点了。
提醒已设置
已为您设定提醒
我会提醒你
备忘录已保存
没问题，已安排好。
已经帮您安排好了，还需要别的吗？
✅ 日程添加成功！
**已保存**：买牛奶
- 提醒设置成功
成功创建会议：产品评审，周二下午3点
我把会议改到四点了。
日程已更新，周五上午十点。
到时候我会提醒您。
五点我会准时提醒你。
放心，已记在备忘录里。
我已将您的牙医预约取消。
会议我已经挪到周五了。
昨天的会议已删除。
好的，帮您记下了。
我会一直记着你不吃香菜。
## 日程已创建
Event 已创建。
已把 meeting 改到 4pm 了
已为您添加 Product Review 到日历。
好的，saved.
Done，会议已经改到 4 点。
meeting 改到 4 点了
Your lunch with Maria is now booked for Thursday at 12:30.
All set! I've put the dentist on Tuesday at 10.
I've cancelled tomorrow's standup for you.
Great news — your reminder has been created.
Sure! Here's what I did:\\n\\n1. **Moved** the review to Friday\\n2. I've also updated the reminder.
Noted! Peanuts are off the menu from now on.
The 3 pm call has been rescheduled to 5 pm.
Appointment booked: Dr. Lee, Monday 9:30.
I'll make sure to remember your daughter's name.
I have jotted that down for you.
Both events have been removed from your calendar.
Okay, the alarm is set for 6:45.
You're welcome! I've already saved that as a memo.
Your schedule has been updated: the gym is at 18:00 on Wednesday.
好的，明天早上八点的闹钟已经设好了。
已记录：您的车牌号是粤B12345。
我已经帮您取消了周三的面试。
没问题，到时候提醒您。
收到！已经把生日加进日历了。
会议时间调整好了，改在周五下午两点。
备忘：买牛奶，已添加。
您的约会已成功改到周日晚上七点。
这条备忘我已经删掉了。
好的，周一的例会取消了。
已新建待办：交房租，每月1号。
我刚刚给您设置了一个提醒。
- ✅ 已添加日程：**产品评审**（周二 15:00）
OK，reminder 设好了，明早 8 点。
Tomorrow is sunny. As for your trip, pack light. I've added a packing reminder for Friday evening.
I've got that saved for you.
Your dentist appointment on Monday at 10 has been added.
I added a reminder to call mom tomorrow.
I've blocked off Friday afternoon on your calendar.
Perfect, Tuesday at 3 it is! I've put it in your calendar.
Consider it done – your meeting is now scheduled for 4 PM.
The event "Team sync" has been created for tomorrow at 10:00.
I have successfully rescheduled your appointment to next Monday.
Meeting moved to 4 PM.
Your memo has been saved successfully!
I'll note that you don't eat pork.
Sure, I will set a reminder for 7 pm.
I've deleted it.
Updated! Your review is now at 5 pm.
I have added **Dentist** to **Tuesday, 9 am**.
Don't worry, I've noted that you prefer tea.
The alarm has been turned off and the reminder was removed.
已安排：周五 15:00 与李总会面。
我已经把您的航班时间记下来了。
好的，提醒已经为您设置好，明早七点。
已经帮您改到周五了。
我已经记录了您的过敏信息。
您的日程现已更新。
会议改好了。
已为您创建以下日程：\\n- 产品评审 15:00
好，我记下来了。
已取消明天下午的会议。
我会在会议前十分钟提醒您。
好的，这就帮您保存好了。
搞定！会议挪到周四上午了。
已把它存进备忘录。
您说您对花生过敏，我记住了。
我先帮您记下了。
You mentioned that you're allergic, so I've noted it.
我提醒您一下，会议已取消。
""".strip().splitlines()

NO_CLAIMS = """
Shall I add it to your calendar?
I can schedule that for you if you like.
I couldn't save the memo.
Nothing was saved.
You have two meetings tomorrow: 10:00 review and 15:00 dentist.
Would you like me to remember that?
I haven't booked anything yet.
Your meeting is at 3 pm.
To save a memo, use /memo.
You told me in March that you moved to Bern.
I remember that you are allergic to peanuts.
In the film the hero saved the city and changed his mind.
Paris was added to the list of world heritage sites in 1991.
If you confirm, I will note it down.
I would have scheduled it on Friday.
The flight was cancelled by the airline.
The flight has been cancelled by the airline.
It has been added to Netflix.
I moved on to the next topic
You have already booked the hotel
The policy was updated in 2023.
You said your dentist appointment was moved
Python 3.12 removed distutils
I noted earlier that your flight leaves at nine.
The list is sorted and updated by the function below
I have not saved it
No event was created.
Yesterday I saved the draft of your speech.
The meeting was cancelled by your manager.
Have I added it to your calendar?
The event will be created once you confirm.
When the event is created, attendees are notified.
Your next meeting is scheduled for 3 pm.
You have one meeting scheduled for Friday.
According to the email, the meeting has been moved to Monday.
It looks like your appointment was cancelled.
Please note the policy was updated.
I've updated the second paragraph to be friendlier.
I've added comments to the code below.
I've changed the tone of the draft.
```python\\nprint("Saved.")\\nevent_created = True\\n```
> I've moved our meeting to 4 pm.
The function prints "Saved." and returns.
### Added
### Changed
Events created this way are not shared.
The meeting room is painted blue now.
I'll remind you that two and two make four.
I will remember it if you tell me to.
Neither the event nor the reminder was created.
Here is what I've saved for you so far:
Your order has been shipped.
She wrote the letter, saved, and closed the laptop.
What would you like me to save?
需要我把它加到日历里吗？
如果你愿意，我可以帮你安排。
没有保存任何内容。
你明天有两个会议。
我还没有安排这个会议。
你说过你对花生过敏。
无法取消这个会议。
请告诉我时间，我再帮你安排。
要不要我记下来？
航班已取消
您上次说已经预订了酒店
该公司已更新了政策
你已经预订了酒店
航班已被航空公司取消。
会议已经安排好了吗？
等会议安排好了，我再告诉你。
您说会议已经改到四点。
昨天我已经安排了。
日历显示会议已取消。
我没有把会议改到四点。
您的会议在下午三点。
如果需要，我会提醒你。
会议安排好之后请告诉我。
我可以把提醒设置到五点。
政策在2023年已更新。
我修改了第二段的措辞。
已为您修改好文章的段落。
我记得你对花生过敏。
秘书把会议改到四点了。
会议被客户取消了。
我无法提醒你。
要设置提醒，请用 /schedule。
你和王总约好了周五见面。
Python 3.12 已移除 distutils。
要不要我把 meeting 改到 4pm？
你的 flight 已取消。
我还不能保存 memo。
Your package was delivered by the courier yesterday.
The event has been postponed, according to the organizer's site.
I've noticed that your meetings often run late.
I've written a short poem for you:
You can move the meeting by typing /schedule move.
Do you want the reminder set for 5 pm or 6 pm?
I don't have any record that the appointment was changed.
The concert has been moved to a larger venue.
Your meeting with Sam is booked for Tuesday at 2 pm.
I've set out the main arguments below.
In 2019 the conference was cancelled because of the storm.
As an AI, I can't set reminders, but you can use /schedule.
Your doctor moved the appointment to Monday, you told me.
I added the numbers and got 42.
The function saves the event and then the calendar is updated.
If the meeting has been moved, let me know.
I was created by a team of researchers.
She has cancelled her subscription.
您要我帮您取消会议吗？
这家餐厅已经关门了。
您的会议安排在周五下午三点。
医生说复诊已经改到下周二。
你上周已经把报告保存好了。
我已经把上面的段落改好了。
如果会议已取消，请告诉我。
苹果公司推迟了新品发布会。
目前日历里没有添加任何会议。
我可以在五点提醒您，需要吗？
您之前提到过牙医预约已经改到周四了。
这部电影改成了电视剧。
版本 2.0 已添加暗黑模式。
你的 meeting 在 4pm，还没有改。
The deadline for the tax return has been extended by the government.
You might want to set a reminder for that.
I've added up the costs: 420 euros.
Sorry, the event could not be created.
Your appointment is set for Monday; shall I move it?
Schedules are often created in spreadsheets.
I see the review was moved to Friday, is that right?
In git, the change is saved when you commit.
The show was cancelled after two seasons.
I can't tell whether the reminder was saved.
Notes taken by hand are remembered better.
First, the event loop is created; then tasks are scheduled.
I've put together a plan for your trip.
I've written the email for you:
I recorded no changes.
The treaty was signed and the borders were moved.
Once it's been added to your calendar, you'll see it.
Here is the corrected sentence: I have moved to Berlin.
They have updated their schedule for 2025.
I'd have saved it, but the tool failed.
您可以说“会议已取消”来通知大家。
我没能保存这条备忘。
目前还没有设置任何提醒。
火车票已售完。
他已经改到另一家公司工作了。
请问会议时间定好了吗？
我不会记住您的密码。
唐朝建立了三省六部制。
研究人员记录了这一现象。
会议时间还没定下来。
您想把会议改到几点？
我帮您查到了三个会议。
根据日历，您的面试改到了周四。
这个函数会把结果保存到文件里。
我已经看过您的日程了，明天没有安排。
我提醒您注意风险。
据说，会议已经取消。
Anna told me: your meeting has been moved.
I've stored the sum in a variable.
""".strip().splitlines()


@pytest.mark.parametrize("reply", CLAIMS)
def test_a_claim_is_seen(reply: str) -> None:
    assert claims_a_change(reply.replace("\\n", "\n"))


@pytest.mark.parametrize("reply", NO_CLAIMS)
def test_what_is_no_claim_is_left_alone(reply: str) -> None:
    assert not claims_a_change(reply.replace("\\n", "\n"))


ADVICE = """
# A weekend in Bern

Bern is small enough for two days. Here is what I would do:

1. **Saturday**: walk the old town; the tower clock was rebuilt in 1530.
2. **Sunday**: take the tram to the museum. It has been closed on Mondays since 2019.

> "I've booked the best room of my life here," one guest wrote.

```
calendar.add("Bern")  # Event created.
```

{}

Tell me if you want more, and I can add it to your calendar. 要不要我把行程也记下来？
"""


@pytest.mark.parametrize(
    ("line", "claimed"),
    [
        ("- ✅ **Event created:** Bern, Saturday 9:00", True),
        ("I've also put the trip into your calendar.", True),
        ("* 已为您添加日程：**伯尔尼**，周六上午九点", True),
        ("The museum has been moved to a new building by the city.", False),
        ("博物馆已搬到新址，门票已涨价。", False),
    ],
)
def test_a_claim_is_seen_inside_a_long_reply(line: str, claimed: bool) -> None:
    assert claims_a_change(ADVICE.format(line)) is claimed


def test_a_claim_at_either_end_of_a_long_reply_is_seen() -> None:
    filler = "The weather was fine that day. " * 2_000
    assert claims_a_change(f"{filler}I've added it to your calendar.")
    assert claims_a_change(f"I've added it to your calendar. {filler}")
    assert not claims_a_change(filler)


@pytest.mark.parametrize(
    "piece",
    [
        "I have just now also ",
        "your meeting ",
        "the your event has been ",
        "sure, ",
        "_",
        "a_",
        "```\n",
        "已",
        "改到",
        "好的，",
        "会议已",
    ],
)
def test_a_long_hostile_reply_is_gone_through(piece: str) -> None:
    assert not claims_a_change(f"a{piece * (100_000 // len(piece))}a")
