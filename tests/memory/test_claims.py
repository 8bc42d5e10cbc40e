"""What a reply claims to have done, told from what it offers, denies or asks."""

from __future__ import annotations

import pytest

from assistant.memory.claims import claims_a_change

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
需要我把它加到日历里吗？
如果你愿意，我可以帮你安排。
没有保存任何内容。
你明天有两个会议。
我还没有安排这个会议。
你说过你对花生过敏。
无法取消这个会议。
请告诉我时间，我再帮你安排。
要不要我记下来？
""".strip().splitlines()


@pytest.mark.parametrize("reply", CLAIMS)
def test_a_claim_is_seen(reply: str) -> None:
    assert claims_a_change(reply)


@pytest.mark.parametrize("reply", NO_CLAIMS)
def test_what_is_no_claim_is_left_alone(reply: str) -> None:
    assert not claims_a_change(reply)


def test_a_claim_at_either_end_of_a_long_reply_is_seen() -> None:
    filler = "The weather was fine that day. " * 2_000
    assert claims_a_change(f"{filler}I've added it to your calendar.")
    assert claims_a_change(f"I've added it to your calendar. {filler}")
    assert not claims_a_change(filler)
