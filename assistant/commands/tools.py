"""/tools, /undo-last, /do: what the model may do, taking it back, and having it really done."""

from __future__ import annotations

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Say, Table, Text
from assistant.commands.registry import CommandGroup
from assistant.errors import EntryChanged

group = CommandGroup("Tools")

#: What is said to the model when it only claimed to have done something.
DO_IT = {
    "en": "You said that you did it, but no tool was called, so nothing was saved. Do it now, with "
    "the tool for it.",
    "zh": "你说已经完成了，但没有调用任何工具，所以什么都没有保存。请现在用相应的工具完成它。",
}


@group.command("tools")
def show_tools(context: CommandContext, argument: str) -> Output:
    """List what the model may do, and what of it you are asked about first."""
    pipeline = context.pipeline
    asked = {"changes": "asks first", "always": "asks first", "never": "asks only when in doubt"}
    policy = pipeline.tool_limits.confirm
    rows = []
    for tool in pipeline.tools.tools:
        if tool.changes:
            confirm = "not in a private session" if context.session.private else asked[policy]
        else:
            confirm = "asks first" if policy == "always" else "only looks"
        rows.append((tool.signature, tool.description, confirm))
    if not rows:
        return Text("The model has no tools: the setting tools.enabled is off.")
    return Table(("Tool", "Does", ""), rows, note="tools.confirm in the config changes the last.")


@group.command("undo-last")
def undo_last(context: CommandContext, argument: str) -> Output:
    """Take back the last change to calendar, memos or facts made in this run."""
    if not context.changes:
        return Text("Nothing was changed in this run, or all of it was taken back.")
    change = context.changes[-1]
    try:
        change.undo()
    except EntryChanged:
        # It never can be; the one before it may.
        context.changes.pop()
        raise
    context.changes.pop()
    return Text(f"✓ taken back: {change.text}")


@group.command("do")
def really_do(context: CommandContext, argument: str) -> Output:
    """Have the model really do what it only said it did."""
    from assistant.memory.language import language_of  # here: its patterns take long to compile

    turn = context.last_turn
    if turn is None or not turn.only_claimed:
        return Text("The last reply claims nothing that was not done.")
    return Say(DO_IT[language_of(turn.question.text)])
