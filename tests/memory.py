"""Memory that reading a file takes, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MEBIBYTE = 1 << 20
_PROGRAM = """
import resource, sys
from pathlib import Path
{imports}
path = Path(sys.argv[1])
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + {most}, resource.RLIM_INFINITY))
try:
{act}
    print("accepted")
except ProblemError as refusal:
    print(refusal)
"""


def outcome(path: Path, imports: str, act: str, mebibytes: int) -> str:
    """What `act`, a text of Python about `path`, prints: "accepted", or the message of a ProblemError.

    The process may take so much more memory than it has after its imports; beyond that a MemoryError fails the test.
    """
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc to know how much memory a process has")
    imports = f"from carom.errors import ProblemError\n{imports}"
    code = _PROGRAM.format(imports=imports, act=textwrap.indent(act, "    "), most=mebibytes * MEBIBYTE)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()
