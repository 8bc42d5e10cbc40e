"""/context: what the last prompt was made of."""

from __future__ import annotations

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Bar, Output, Share, Text
from assistant.commands.registry import CommandGroup
from assistant.memory.session import Session
from assistant.messages import Usage
from assistant.prompt import Prompt

group = CommandGroup("Context window")


@group.command("context")
def show_context(context: CommandContext, argument: str) -> Output:
    """Show what the last prompt was made of, against the model's window."""
    if context.last_turn is None:
        return Text(
            "Nothing was sent in this session since it was opened, or it was undone. Ask something "
            "first."
        )
    turn = context.last_turn
    prompt, reply = turn.prompt, turn.reply
    shares = [
        *(Share(section.name, section.tokens) for section in prompt.sections),
        Share("reply", prompt.reserve),
        Share("margin", prompt.limit - prompt.window),
        Share("free", prompt.free, used=False),
    ]
    return Bar(
        f"Last prompt: {_mark(prompt)}{prompt.tokens:,} of {prompt.limit:,} tokens",
        shares,
        unit="tokens",
        mark=_mark(prompt),
        note=_note(context, prompt, reply.usage if reply else None),
    )


def _mark(prompt: Prompt) -> str:
    return "" if prompt.exact else "~"


def _note(context: CommandContext, prompt: Prompt, usage: Usage | None) -> str:
    limits = context.pipeline.limits
    lines = [
        "“reply” is kept free for the reply; “margin” is left because models count differently.",
        f"History and summary: at most {limits.history:,} tokens and {limits.recent_messages} "
        f"messages; {prompt.left_out} older messages were not sent word for word (they are in the "
        "session).",
    ]
    lines += [_about_summary(context.session, prompt), _about_recalled(context, prompt)]
    if usage is not None and prompt.tokens:
        lines.append(
            f"The endpoint counted {usage.prompt_tokens:,} tokens for this prompt, we "
            f"{prompt.tokens:,}: {usage.prompt_tokens / prompt.tokens:.2f} of its tokens for one "
            "of ours."
        )
    return "\n".join(lines)


def _about_summary(session: Session, prompt: Prompt) -> str:
    summary = session.summary
    if summary is None:
        return "Summary: none yet (/compact makes one)."
    if not any(one.name == "summary" and one.tokens for one in prompt.sections):
        return "Summary: it did not fit or came after this prompt, so it was not sent."
    return f"Summary: stands for {session.summarized} messages (/compact show)."


def _about_recalled(context: CommandContext, prompt: Prompt) -> str:
    items = len(prompt.recollection.items)
    most = context.pipeline.limits.recalled
    return f"Recalled: {items} exchanges, at most {most:,} tokens (/why)."
