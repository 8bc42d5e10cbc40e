"""One turn, readable top to bottom: a question goes in, a saved reply comes out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import msgspec

from assistant.errors import (
    ChatModelError,
    CompactionError,
    ContextTooLong,
    MessageTooBig,
    RequestRejected,
    ServerFailed,
    StreamBroken,
)
from assistant.memory.assembly import Fixed, Known, Shares, assemble, share_out
from assistant.memory.compaction.compactor import Compactor
from assistant.memory.interrupts import interrupts_held
from assistant.memory.model_profiles import ModelProfile, ModelProfiles
from assistant.memory.recall.retriever import Retriever
from assistant.memory.session import Session
from assistant.memory.token_budget import (
    TokenBudget,
    counted,
    cut_lines,
    message_tokens,
    tools_tokens,
)
from assistant.messages import (
    BROKEN,
    INTERRUPTED,
    Content,
    Message,
    TokenCount,
    ToolCall,
    Usage,
    clean_content,
    clean_text,
)
from assistant.prompt import Prompt, Recollection
from assistant.protocols import Change, ChatModel, TokenCounter
from assistant.tools.registry import ToolRegistry
from assistant.tools.rounds import Confirm, Outcome, ToolLimits, ToolRounds, decline

WITHOUT_TOOLS = (
    "This model takes no tools here, or its window is too small for them: it can only talk. "
    "/schedule, /memo and /remember work all the same."
)

#: The part of the window that the descriptions of tools may take.
MOST_FOR_TOOLS = 4


class BudgetLimits(msgspec.Struct, frozen=True):
    """How large the parts of a prompt may be, in tokens; a user raises them in the config."""

    window: int | None
    """The model's window where the user set it; else it is found out."""
    reply: int
    history: int
    recent_messages: int
    recalled: int = 0


class TextArrived(msgspec.Struct, frozen=True):
    """A piece of the reply; it is on the disk already."""

    text: str


class Notice(msgspec.Struct, frozen=True):
    """A sentence for the user, beside the reply."""

    text: str


class Working(msgspec.Struct, frozen=True):
    """What the user is waiting for, beside the model."""

    text: str


class Changed(msgspec.Struct, frozen=True):
    """Something was written by a tool, and can be taken back."""

    change: Change


Event: TypeAlias = TextArrived | Notice | Working | Changed
OnEvent: TypeAlias = Callable[[Event], None]


class Turn(msgspec.Struct, frozen=True):
    """What happened: the question, exactly what was sent last, and the reply as it was saved.

    `reply` is None when the user stopped it before its first word.
    """

    question: Message
    prompt: Prompt
    reply: Message | None
    changes: tuple[Change, ...] = ()
    """What tools have written."""
    failures: tuple[str, ...] = ()
    """Why changes that tools tried were not made."""
    only_claimed: bool = False
    """Whether the reply says that something was saved or changed, and no tool wrote anything."""


@dataclass
class Pipeline:
    """What a turn passes through. Built in one place: app.py."""

    model: ChatModel
    counter: TokenCounter
    profiles: ModelProfiles
    fixed: Fixed
    limits: BudgetLimits
    compactor: Compactor
    retriever: Retriever
    tools: ToolRegistry
    tool_limits: ToolLimits
    known: Callable[[datetime], Known]
    """What is known about the user and stands in every prompt, at a moment."""
    giving_way: Callable[[], AbstractContextManager[None]]
    """Held while a reply is wanted: what uses the same model in the background ends."""
    clock: Callable[[], datetime]
    hand_over: Callable[[Session, Turn], None]
    """Takes the finished turn to the worker: what it need not wait for."""
    _told_without_tools: bool = field(default=False, init=False)

    def fixed_now(self, now: datetime, *, private: bool) -> Fixed:
        """What stands in a prompt now, for the model that is asked.

        Nothing of a private session is kept: no tool may change anything there.
        """
        tools = self.tools.schemas(changing=not private)
        tokens = tools_tokens(self.model.tools_text(tools), self.counter.count)
        # In a narrow window the conversation goes before tools.
        if tokens > self.budget().window // MOST_FOR_TOOLS:
            tools, tokens = (), 0
        return msgspec.structs.replace(
            self.fixed, tools=tools, tools_tokens=tokens, facts=self.known(now)
        )

    def goes_without_tools(self, fixed: Fixed) -> bool:
        """Whether the model takes no tools, though there are some; only the first time."""
        without = bool(self.tools.tools) and not fixed.tools_tokens
        first = without and not self._told_without_tools
        self._told_without_tools = without
        return first

    def profile(self) -> ModelProfile:
        return self.profiles.profile(
            self.model.address, self.model.name, configured=self.limits.window
        )

    def budget(self) -> TokenBudget:
        """The model's window shared out, in our tokens."""
        profile = self.profile()
        return TokenBudget.for_window(
            profile.ours(profile.window),
            reserve=self.limits.reply,
            history=self.limits.history,
            recent_messages=self.limits.recent_messages,
            recalled=self.limits.recalled,
            limit=profile.window,
        )


def run_turn(
    question: Content | Message,
    session: Session,
    pipeline: Pipeline,
    on_event: OnEvent,
    *,
    confirm: Confirm = decline,
    cut_message: bool = False,
    pasted: bool = False,
) -> Turn:
    """Ask the model one question in a session, and save its reply.

    `question` is what the user typed, or the session's own unanswered message when it is asked
    again. A message too big for the window raises MessageTooBig, and is sent with its middle cut
    out only with `cut_message`. `confirm` asks the user before a tool changes something; `pasted`
    says that the question holds text that the user did not type. A reply that fails raises a
    ChatModelError; the question stays, marked. Ctrl-C keeps what came.
    """
    # 1. Save the user's message, before anything can fail.
    asked = _saved_question(question, session, pipeline)
    now = pipeline.clock()
    rounds = ToolRounds(
        pipeline.tools,
        pipeline.tool_limits,
        confirm,
        source=f"{session.id}.{asked.turn}",
        private=session.private,
    )
    recollection: Recollection | None = None
    history_room = 0
    refused = False

    try:
        while True:
            # 2. Budget: what is fixed, what the history may take, what is left for the reply.
            fixed = pipeline.fixed_now(now, private=session.private)
            if pipeline.goes_without_tools(fixed):
                on_event(Notice(WITHOUT_TOOLS))
            shares = _share_out(session, fixed, now, pipeline, recollection, cut_message)

            if recollection is None:
                # 3. Summarize, only where older turns would be neither sent nor summarized.
                if shares.left_out and _summarized(session, shares, pipeline, on_event):
                    shares = _share_out(session, fixed, now, pipeline, recollection, cut_message)

                # 4. Retrieve what bears on the message.
                recollection = pipeline.retriever.recall(session, shares)
                history_room = shares.history_room

            # 5. Assemble the prompt.
            prompt = _assemble(session, shares, recollection, fixed, pipeline)
            # Results of tools fill this turn's prompt alone: later ones have the room they had.
            prompt = msgspec.structs.replace(prompt, history_room=history_room)
            secondhand = pasted or bool(recollection.text) or shares.tells_of_others

            # 6. Reply, streaming; while the model asks for tools, run them and go on.
            try:
                reply = _stream_reply(asked, prompt, session, pipeline, on_event, rounds.may_call)
                if reply is not None and secondhand:
                    reply = msgspec.structs.replace(reply, secondhand=True)
            except ContextTooLong as refusal:
                # A window learnt from the endpoint's refusal is used at once.
                if refused:
                    raise
                refused, recollection = True, None
                _learn(refusal, prompt, pipeline)
                limit = pipeline.budget().limit
                on_event(Notice(f"The model takes {limit:,} tokens at most: sending less."))
                continue
            if reply is None or not reply.tool_calls:
                break
            if not _ran_tools(reply, rounds, session, pipeline, on_event, secondhand):
                reply = None
                break
    except (ChatModelError, MessageTooBig) as error:
        rejected = isinstance(error, (RequestRejected, MessageTooBig))
        session.fail(asked.turn, str(error), rejected=rejected)
        raise

    # 7. Save the reply, or the part of it that came.
    changes = tuple(rounds.changes)
    if reply is None:
        session.fail(asked.turn, "stopped before its reply")
        return Turn(asked, prompt, None, changes, tuple(rounds.failures))
    saved = session.answer(_with_count(reply, pipeline.counter))

    # 8. Hand over what the next prompt need not wait for.
    # An earlier attempt at this turn may have written something.
    wrote = any(one.changed for one in session.history.slice(session.history.turn(asked.turn)))
    only_claimed = not wrote and _claims_a_change(saved)
    turn = Turn(asked, prompt, saved, changes, tuple(rounds.failures), only_claimed)
    pipeline.hand_over(session, turn)
    return turn


def _claims_a_change(reply: Message) -> bool:
    from assistant.memory.claims.claims import (
        claims_a_change,  # here: its patterns take long to compile
    )

    return claims_a_change(reply.text)


def _saved_question(question: Content | Message, session: Session, pipeline: Pipeline) -> Message:
    """Save what was typed at once; its count goes with it unless that would mean waiting."""
    if isinstance(question, Message):
        # Nothing needs saving before the model is asked: that finds out what others have changed.
        session.require_unchanged()
        return question
    content = clean_content(question)
    counter = pipeline.counter
    if not counter.ready:
        return session.ask(content)
    tokens = message_tokens(Message(role="user", content=content), counter.count)
    return session.ask(content, TokenCount(counter.encoding, tokens))


def _share_out(
    session: Session,
    fixed: Fixed,
    now: datetime,
    pipeline: Pipeline,
    recollection: Recollection | None,
    cut_message: bool,
) -> Shares:
    budget, counter = pipeline.budget(), pipeline.counter
    recalled = recollection.text if recollection else ""
    return share_out(
        session, fixed, budget, counter, now, recalled=recalled, cut_message=cut_message
    )


def _summarized(session: Session, shares: Shares, pipeline: Pipeline, on_event: OnEvent) -> bool:
    """Have the older turns summarized while the user waits; False when that came to nothing."""
    on_event(Working("Summarizing the older turns …"))
    try:
        pipeline.compactor.compact_due(session, shares.history_room)
    except CompactionError as error:
        on_event(Notice(f"{error} The oldest turns are left out of this prompt."))
        return False
    finally:
        on_event(Working(""))
    return True


def _assemble(
    session: Session, shares: Shares, recollection: Recollection, fixed: Fixed, pipeline: Pipeline
) -> Prompt:
    return assemble(session, shares, recollection, fixed, pipeline.budget(), pipeline.counter)


def _learn(refusal: ContextTooLong, prompt: Prompt, pipeline: Pipeline) -> None:
    """Keep the window the endpoint named when it refused a prompt.

    When it named none, or one that this prompt should have fitted, our count was wrong: then half
    of what was sent is tried, in this run alone.
    """
    model = pipeline.model
    sent = pipeline.profile().theirs(prompt.tokens + prompt.reserve)
    if refusal.limit is not None and refusal.limit < sent:
        pipeline.profiles.refused(model.address, model.name, refusal.limit)
    else:
        pipeline.profiles.guessed(model.address, model.name, sent // 2)


def _stream_reply(
    asked: Message,
    prompt: Prompt,
    session: Session,
    pipeline: Pipeline,
    on_event: OnEvent,
    may_call: bool,
) -> Message | None:
    """The reply as it streams in; each piece is on the disk before it is shown.

    None when the user stopped it before anything came. A stream that breaks after its first
    words gives the part, marked; before them it raises. Without `may_call` it is text alone.
    """
    model = pipeline.model
    pieces: list[str] = []
    held = ""
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    answered_by = model.name
    longest = pipeline.profile().theirs(prompt.reserve)
    session.stream_starts(asked.turn, model.name)
    try:
        with pipeline.giving_way():
            for part in model.stream(
                prompt.messages, tools=prompt.tools, may_call=may_call, max_tokens=longest
            ):
                text, held = _joined_pairs(held + part.text)
                if text:
                    session.keep_part(text)
                    pieces.append(text)
                    on_event(TextArrived(text))
                calls = (part.tool_calls if may_call else ()) or calls
                finish_reason = part.finish_reason or finish_reason
                usage = part.usage or usage
                answered_by = part.model or answered_by
    except KeyboardInterrupt:
        finish_reason, calls = INTERRUPTED, ()
        if not pieces:
            return None
    except StreamBroken as error:
        finish_reason, calls = BROKEN, ()
        if not pieces:
            raise
        on_event(Notice(f"{error} What came is kept, marked as cut short."))
    if not pieces and not may_call:
        raise ServerFailed(
            f"The model {model.name} asked for tools again and again and gave no answer. What they "
            "did is done. /retry asks for the answer."
        )
    if not pieces and not calls:
        raise ServerFailed(
            f"The model {model.name} answered with nothing. /retry asks again; another model may "
            "do better (/model)."
        )
    return Message(
        role="assistant",
        content="".join(pieces),
        turn=asked.turn,
        tool_calls=_with_own_ids(calls, session),
        model=answered_by,
        usage=usage,
        finish_reason=finish_reason,
    )


def _with_own_ids(calls: tuple[ToolCall, ...], session: Session) -> tuple[ToolCall, ...]:
    """The calls, each with an id of its own in the session: some servers count from 0 each time.

    An id that is new stays as it is. Others get nine letters and digits, which all servers take.
    """
    lately = session.history.slice(range(max(0, len(session.history) - 200), len(session.history)))
    taken = {call.id for one in lately for call in one.tool_calls}
    own = []
    for number, call in enumerate(calls, 1):
        if not call.id or call.id in taken:
            name = f"c{len(session.history):06}{number:02}"[-9:]
            call = msgspec.structs.replace(call, id=name)
        taken.add(call.id)
        own.append(call)
    return tuple(own)


def _ran_tools(
    reply: Message,
    rounds: ToolRounds,
    session: Session,
    pipeline: Pipeline,
    on_event: OnEvent,
    secondhand: bool,
) -> bool:
    """Run the calls of a reply in order; each result is saved before the next call begins.

    False when the user stopped it: the calls that were not run then have a result that says so.
    """
    try:
        session.answer(_with_count(reply, pipeline.counter))
        rounds.begin_round()
        if reply.finish_reason == "length":
            session.close_calls("Not run: the reply was cut at its limit. Say it shorter.")
            return True
        for call in reply.tool_calls:
            on_event(Working(f"{call.name} …"))
            carry_out = rounds.begin(call, told_by_others=secondhand)
            session.require_unchanged()
            # What is written and what is known of it go together, and the user hears of it.
            with interrupts_held():
                outcome = carry_out()
                try:
                    session.add(_result(call, reply.turn, outcome, pipeline))
                finally:
                    if outcome.change is not None:
                        on_event(Changed(outcome.change))
            if outcome.failure:
                on_event(Notice(outcome.failure))
            # From here on there is text in the prompt that a tool has found.
            secondhand = True
    except KeyboardInterrupt:
        session.close_calls("Interrupted by the user before it was run. Nothing was changed.")
        return False
    finally:
        on_event(Working(""))
    return True


def _result(call: ToolCall, turn: int, outcome: Outcome, pipeline: Pipeline) -> Message:
    """A result as it is saved: what the model gets, and all of it where that is more."""
    text = clean_text(outcome.text)
    counter = pipeline.counter
    short = cut_lines(text, pipeline.tool_limits.max_result_tokens, counter.count)
    whole = None if short == text else text
    changed = outcome.change.text if outcome.change is not None else outcome.stands
    result = Message(
        role="tool",
        content=short,
        turn=turn,
        tool_call_id=call.id,
        whole=whole,
        changed=clean_text(changed),
    )
    return _with_count(result, counter)


def _joined_pairs(text: str) -> tuple[str, str]:
    """Clean text, and the first half of a surrogate pair whose second half is still to come."""
    held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return clean_text(text[: len(text) - len(held)]), held


def _with_count(message: Message, counter: TokenCounter) -> Message:
    return counted(message, counter.encoding, message_tokens(message, counter.count))
