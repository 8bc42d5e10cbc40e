"""Files of a home as files: permissions, left-overs, room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assistant.memory.checks.file_checks import check_left_over, check_permissions, check_room
from assistant.memory.checks.findings import Check, Copies, looked, mended


@pytest.fixture
def kept(home: Path) -> Path:
    """A home with a session, data, and what lies beside them in a checkout."""
    for folder in (home, home / "sessions", home / "data", home / "data" / "logs"):
        folder.mkdir(mode=0o700)
    for name in (".env", "sessions/s1.jsonl", "data/facts.jsonl", "data/logs/assistant.log"):
        (home / name).touch(0o600)
    for name in ("README.md", "sessions/README.md"):
        (home / name).touch(0o644)
    home.chmod(0o755)
    return home


def test_a_private_home_is_in_order_whatever_lies_beside_it(kept: Path) -> None:
    assert list(check_permissions(kept)) == []


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (".env", 0o644),
        ("sessions", 0o755),
        ("sessions/s1.jsonl", 0o640),
        ("data", 0o701),
        ("data/logs/assistant.log", 0o602),
    ],
)
def test_what_others_can_read_or_write_is_closed(kept: Path, name: str, mode: int) -> None:
    path = kept / name
    path.chmod(mode)
    check = Check("permissions", lambda: check_permissions(kept))
    before = looked(check)
    assert before.state == "problem"
    assert name in before.findings[0].text
    assert path.stat().st_mode & 0o777 == mode
    assert mended(before, Copies(kept, "now")).state == "fixed"
    assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_what_a_link_leads_to_is_left_alone(kept: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "calendar.ics"
    elsewhere.touch(0o644)
    (kept / "data" / "calendar.ics").symlink_to(elsewhere)
    assert list(check_permissions(kept)) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_another_user_is_told_and_not_touched(kept: Path) -> None:
    os.chown(kept / "data" / "facts.jsonl", 65534, 65534)
    (kept / "data" / "facts.jsonl").chmod(0o644)
    (finding,) = check_permissions(kept)
    assert finding.state == "problem"
    assert "another user" in finding.text
    assert finding.remedy is None


def test_temporary_files_of_processes_that_are_gone_are_removed(kept: Path) -> None:
    left = [kept / "sessions" / ".s1.jsonl.41.tmp", kept / "data" / ".facts.jsonl.41.tmp"]
    alive = kept / "data" / ".memos.jsonl.42.tmp"
    for path in (*left, alive):
        path.write_text("half")
    check = Check("left over", lambda: check_left_over(kept, lambda pid: pid == 42))
    before = looked(check)
    assert len(before.remedies) == 2
    mended(before, Copies(kept, "now"))
    assert not any(path.exists() for path in left)
    assert alive.exists()


def test_this_process_counts_as_running(kept: Path) -> None:
    (kept / "data" / f".facts.jsonl.{os.getpid()}.tmp").touch()
    assert list(check_left_over(kept)) == []


def test_an_index_that_was_put_aside_is_told_with_its_size_and_removed(kept: Path) -> None:
    folder = kept / "data" / "index.db.corrupt-20260304-050607"
    folder.mkdir()
    (folder / "rows").write_bytes(bytes(3_000_000))
    (kept / "data" / "index.db.corrupt-discarded-1a2b").write_text("a file")
    before = looked(Check("left over", lambda: check_left_over(kept)))
    assert "3 MB" in before.findings[0].text
    assert mended(before, Copies(kept, "now")).state == "fixed"
    assert not list((kept / "data").glob("index.db.*"))


@pytest.mark.parametrize(("free", "state"), [(99_999_999, "warning"), (100_000_000, "ok")])
def test_little_room_on_the_disk_is_a_warning(home: Path, free: int, state: str) -> None:
    (finding,) = check_room(home, lambda folder: free)
    assert finding.state == state


@pytest.mark.parametrize("place", ["config", "data/before-doctor"])
def test_what_a_killed_process_left_in_other_folders_is_found(kept: Path, place: str) -> None:
    path = kept / place / ".s1.jsonl.before-1.999999999.tmp"
    path.parent.mkdir(exist_ok=True)
    path.touch(0o600)
    before = looked(Check("left over", lambda: check_left_over(kept)))
    assert before.state == "warning"
    assert mended(before, Copies(kept, "now")).state == "fixed"
    assert not path.exists()
