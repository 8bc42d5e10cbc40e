"""The register of exported files, and erasing them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from assistant.memory.erasing.exports import ExportFiles, Exports
from tests.memory.test_erasables import NOW, erasure, quiet


@pytest.fixture
def register(tmp_path: Path) -> Path:
    return tmp_path / "data" / "exports.json"


def exported(register: Path, name: str, session: str = "s1", content: str = "quagga") -> Path:
    path = register.parent.parent / name
    Exports(register).note(path, session, NOW, content.encode())
    path.write_text(content)
    return path


def test_what_was_exported_is_known_by_session(register: Path) -> None:
    one, two = exported(register, "one.md"), exported(register, "two.md", "s2")
    exported(register, "one.md", content="again")
    exports = Exports(register)
    assert exports.of(["s1", "s3"]) == [str(one)]
    assert exports.of(["s2", "s1"]) == exports.of(None) == [str(two), str(one)]
    assert register.stat().st_mode & 0o777 == 0o600


def test_a_register_that_can_not_be_read_is_begun_anew(register: Path) -> None:
    register.parent.mkdir()
    register.write_bytes(b"\xff{")
    assert Exports(register).of(["s1"]) == []
    exported(register, "one.md")
    assert len(Exports(register).of(["s1"])) == 1


def test_a_file_that_was_changed_stays_and_that_is_said(register: Path) -> None:
    one, two = exported(register, "one.md"), exported(register, "two.md")
    one.write_text("mine now")
    store, wanted = ExportFiles(register), erasure(exports=[str(one), str(two)])
    assert store.count(wanted) == 2
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0
    assert one.read_text() == "mine now"
    assert not two.exists()
    assert str(one) in store.left(wanted)
    assert str(two) not in store.left(wanted)
    assert Exports(register).of(["s1"]) == []


def test_what_is_gone_already_is_no_error(register: Path) -> None:
    one = exported(register, "one.md")
    one.unlink()
    store, wanted = ExportFiles(register), erasure(exports=[str(one)])
    store.erase(wanted, quiet)
    assert (store.count(wanted), store.left(wanted)) == (0, "")


def test_what_is_exported_to_the_same_place_later_stays(register: Path) -> None:
    one = exported(register, "one.md")
    earlier = erasure(exports=[str(one)], ts=NOW - timedelta(seconds=1))
    store = ExportFiles(register)
    store.erase(earlier, quiet)
    assert one.exists()
    assert (store.count(earlier), store.left(earlier)) == (0, "")
    assert len(Exports(register).of(["s1"])) == 1


def test_what_killed_processes_left_beside_an_export_goes_with_its_session(register: Path) -> None:
    one, two = exported(register, "one.md"), exported(register, "two.md", "s2")
    for path in (one, two):
        path.with_name(f".{path.name}.999999999.tmp").write_text("quagga")
    store, wanted = ExportFiles(register), erasure(turns={"s1": [3]})
    assert [match.kind for match in store.matches(wanted)] == ["left-over file"]
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0
    left = {path.name for path in one.parent.iterdir() if path.is_file()}
    assert left == {"one.md", "two.md", ".two.md.999999999.tmp"}
