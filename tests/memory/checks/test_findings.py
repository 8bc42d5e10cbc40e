"""Checks, remedies, and the copies of what is mended."""

from __future__ import annotations

from pathlib import Path

from assistant.errors import SessionInUse
from assistant.memory.checks.findings import Check, Copies, Finding, Remedy, looked, mended


def test_copies_are_private_and_never_take_each_other_s_place(home: Path) -> None:
    home.mkdir()
    file = home / "facts.jsonl"
    for content in ("one", "two"):
        file.write_text(content)
        Copies(home, "20260304-050607").keep(file)
    first = home / "data" / "before-doctor" / "facts.jsonl.before-20260304-050607"
    second = first.with_name(f"{first.name}-2")
    assert (first.read_text(), second.read_text()) == ("one", "two")
    assert {path.stat().st_mode & 0o777 for path in (first, second)} == {0o600}
    assert first.parent.stat().st_mode & 0o777 == 0o700


def test_what_can_not_be_looked_at_is_a_problem(tmp_path: Path) -> None:
    def look() -> list[Finding]:
        (tmp_path / "nothing").read_text()
        return []

    result = looked(Check("file", look))
    assert result.state == "problem"
    assert "No such file" in result.findings[0].text


def test_a_check_without_findings_is_in_order() -> None:
    assert looked(Check("nothing", list)).state == "ok"


def test_what_was_mended_is_looked_at_again(tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.touch()
    remedy = Remedy("It is removed.", lambda _: file.unlink())
    check = Check("file", lambda: [Finding("problem", "It is there.", remedy)] * file.exists())
    result = mended(looked(check), Copies(tmp_path, "now"))
    assert [one.state for one in result.findings] == ["fixed", "ok"]
    assert result.state == "fixed"


def test_a_remedy_that_fails_says_why_and_leaves_the_problem(tmp_path: Path) -> None:
    def refuse(copies: Copies) -> None:
        raise SessionInUse("It is open elsewhere.", "s1")

    check = Check("log", lambda: [Finding("problem", "Broken.", Remedy("It is mended.", refuse))])
    result = mended(looked(check), Copies(tmp_path, "now"))
    assert result.state == "problem"
    assert result.findings[0].text == "Not done: It is mended. It is open elsewhere."
