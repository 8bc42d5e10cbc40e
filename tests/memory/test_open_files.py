"""The limit of open files is raised as far as it has to be and may."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource")

RAISED = """
import resource, sys
from assistant.memory.open_files import allow_open_files
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
allow_open_files(wanted)
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "then"),
    [
        pytest.param(256, 900, 10, "256 900", id="enough"),
        pytest.param(256, 900, 400, "600 900", id="raised"),
        pytest.param(256, 900, 5_000, "900 900", id="as far as it may"),
    ],
)
def test_the_limit(soft: int, hard: int, wanted: int, then: str) -> None:
    command = [sys.executable, "-c", RAISED, str(soft), str(hard), str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == then
