"""How Chinese claims that something was saved or changed just now, in simplified characters."""

from __future__ import annotations

import re

#: Done with what the program keeps.
_DONE = re.compile(
    r"添加|增加|加入|加[到进上在]|保存|存[好到入进下在]|记录|记[下住好到入进在上]|写[下入进到在]|放[到进入在]|预约|预定|预订"
    r"|订[好下到]|约[好在到定]|安排|创建|新建|建[好立]|更新|修改|改[成为到在至好期]|调整|调[到至成好]|[移挪][到至动]|推迟"
    r"|延[后期]|提前|取消|删[除掉]|移除|设[置定好为成]|定[好在到]|登记|标记|录入|备注|撤销|记"
)
_KEPT = re.compile(
    r"日程|日历|会议|提醒|备忘|约会|预约|事项|待办|闹钟|活动|行程|安排|例会|周会|晨会|评审|面试|电话会|聚餐|聚会|任务"
    r"|纪念日|事件|清单|时间|笔记|记录|偏好|生日|课程|牙医|体检|饭局|这[条个件]|那[条个件]|它|会$"
    r"|\b(?:event|meeting|reminder|memo|note|appointment|calendar|schedule|review|to-?do|task)s?\b",
    re.IGNORECASE,
)
#: Said before the verb, it makes the thing done: 已, 刚刚, 成功.
_FINISHED_BEFORE = re.compile(r"已|刚(?!好|开始)|成功")
#: Said behind it: 安排好了, 改成四点了, 保存成功, 记住的.
_FINISHED_AFTER = re.compile(
    r"^(?:好|完|下来?|妥|妥当)?了|^(?:成功|完成|完毕)(?=$|[\W了啦])|^(?:好|妥)(?:啦|咯|嘞)|^啦"
    r"|^[^。！？]{1,20}了[。！!~～✅ ]*$"
)
#: What follows where nothing was done yet.
_NOT_YET_AFTER = re.compile(
    r"^(?:好|完|完成)?了?(?:之后|以后|后(?!天)|的话|时(?!间)|没|吗|么|再|就|才)|[吗么]\W*$|没有?\W*$|了再"
)
_SERVICE = r"(?:为|帮|给|替)(?:[你您](?:们)?|咱们)"
#: Where the words for who does it end.
_AGENT_END = re.compile(rf"已经?|刚[刚才]?|[把将]|{_SERVICE}|成功|现已|[都也均全就先]")
_OURS = re.compile(
    r"^(?:那|现在|目前|好|嗯)?(?:我(?:这边|这|们)?|系统|助手|这边|这)?(?:现在|目前|马上)?$"
)
_BY_US = re.compile(rf"我|{_SERVICE}")
_ALIEN = re.compile(
    r"^(?:[你您他她]们?(?!的)"
    r"|.{0,8}(?:公司|航空|官方|对方|医院|酒店|客户|老板|同事)(?!的?(?:会|约|面|评|日|活)))"
)

_LEAD_IN = re.compile(
    r"^(?:(?:好的?|好嘞|没问题|没关系|不客气|别担心|不用担心|放心|收到|嗯+|明白了?|搞定了?|当然|可以的?|行|OK|完成|太好了"
    r"|谢谢|知道了|了解了?|另外|同时|然后|并且?|并已)[\s，,。.!！：:~～]*){1,3}(?=\S)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"没(?!问题)|未|无法|无需|不(?!客气|过|用担心)|尚|别(?!担心)|勿|可以|可能|能(?!量)"
    r"|(?<![约聚例周晨晚年开体])会(?!议|面|$)|想|要|需|应该|打算|准备|如果|若|假如|假设|一旦|等(?!级)"
    r"|是否|请|除非|何时|怎么|如何|希望|建议|来(?!自)|再|被|由(?!于)|让|只"
)
#: Somebody else's doing, or that of another day.
_TOLD = re.compile(
    r"[你您他她]们?(?:之前|上次|刚才|曾经?|以前)?(?:[说问写]|提[到过]|告诉|让|要求)|说过|提到|上次|上回|以前|曾|听说|据说|根据"
    r"|显示|看[到来]|觉得|认为|似乎|好像|可能|当时|原来|通知|宣布|表示|记得|发现|写道|知道"
    r"|(?:昨[天晚日]|前[天晚些几]|上(?:周|个?月|个?星期|个?礼拜)[一二三四五六日天]?|去年|[早之]前"
    r"|(?:1[5-9]|20)\d\d ?年)(?!的)"
)
_OF_TEXTS = re.compile(
    r"代码|注释|函数|文章|段落|句子|措辞|文案|草稿|译文|脚本|示例|例子|标点|语气|格式|正文|程序|版本|公式|变量|字段|作文|诗|简历|标题"
)
_PROMISE = re.compile(
    r"我(?:一定|都|也|就)?(?:会|将)(?!议)[^，。！？\n]{0,14}?(?:提醒[你您]|记[住得着下]|牢记|铭记|叫[你您])"
    r"|(?:到时候?|届时|准时|[点分前天时])我?(?:会|将)?(?:再|准时|及时)?(?:提醒[你您])"
    r"|我(?:都|已经?|会)?(?:一直)?记(?:住|下|着)(?:了|的|这|它|你|您)"
)
_NO_PROMISE = re.compile(r"没|不|未|无法|可以|能|要|需")
#: 提醒您注意 and its like warn, here and now.
_WARNS = re.compile(r"注意|一下|：")
_CONDITION = re.compile(r"如果|要是|若|假如|一旦|只要|除非|等[你您]|需要的话|的话")


def claims(clause: str, before: str) -> bool:
    """Whether a clause claims that something was kept or changed just now.

    `before` is what stands before it in its sentence.
    """
    told = _TOLD.search(before) is not None
    lead_in = _LEAD_IN.match(clause)
    own = clause[lead_in.end() :] if lead_in else clause
    return _promises(own, before) or any(
        _is_done(own[max(0, verb.start() - 40) : verb.start()], own[verb.end() :][:40], told)
        for verb in _DONE.finditer(own)
    )


def _is_done(lead: str, rest: str, told: bool) -> bool:
    """Whether what stands before and behind a verb says that we have done it.

    Where something was `told` before it, we must be named.
    """
    if told and not _BY_US.search(lead):
        return False
    if not (_FINISHED_BEFORE.search(lead) or _FINISHED_AFTER.search(rest)):
        return False
    if _NOT_YET_AFTER.search(rest) or _NEGATED.search(lead) or _TOLD.search(lead):
        return False
    if _OF_TEXTS.search(lead) or _OF_TEXTS.search(rest):
        return False
    return _is_ours(lead)


def _is_ours(lead: str) -> bool:
    """Whether we are who does it: named, or left out where the thing kept is named or nothing."""
    end = _AGENT_END.search(lead)
    agent = (lead[: end.start()] if end else lead).strip(" 、*")
    if _OURS.match(agent) or agent.endswith("我"):
        return True
    by_another = any(sign in lead[len(agent) :] for sign in "把将") or _ALIEN.match(agent)
    return not by_another and _KEPT.search(agent) is not None


def _promises(clause: str, before: str) -> bool:
    match = _PROMISE.search(clause)
    if match is None or _CONDITION.search(before) or _CONDITION.search(clause):
        return False
    start, end = match.span()
    if _WARNS.match(clause, end) or clause.endswith(("吗", "么")):
        return False
    return not (_NO_PROMISE.search(clause, 0, end) or _TOLD.search(clause, 0, start))
