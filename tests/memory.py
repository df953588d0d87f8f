"""Memory that reading a file takes, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

MEBIBYTE = 1 << 20
# It imports once and answers each line by a copy of itself, so that a case does not pay for the imports.
_SERVER = """
import json, os, resource, sys, traceback
from pathlib import Path
from carom.errors import ProblemError
exec(sys.argv[1])

def answer(path, act, most):
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + most, resource.RLIM_INFINITY))
    try:
        exec(act, {**globals(), "path": Path(path)})
        return "accepted"
    except ProblemError as refusal:
        return str(refusal)

for line in sys.stdin:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text, failed = answer(*json.loads(line)), ""
        except BaseException:
            text, failed = "", traceback.format_exc()
        with os.fdopen(writing, "w") as pipe:
            json.dump([text, failed], pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    print(said or json.dumps(["", f"the process ended with status {status}"]), flush=True)
"""


@cache
def _server(imports: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _SERVER, imports]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def outcome(path: Path, imports: str, act: str, mebibytes: int) -> str:
    """What `act`, a text of Python about `path`, gives: "accepted", or the message of a ProblemError.

    The process may take so much more memory than it has after its imports; beyond that a MemoryError fails the test.
    """
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc to know how much memory a process has")
    server = _server(imports)
    assert server.stdin is not None
    assert server.stdout is not None
    print(json.dumps([str(path), act, mebibytes * MEBIBYTE]), file=server.stdin, flush=True)
    text, failed = json.loads(server.stdout.readline())
    assert not failed, failed[-2000:]
    return text.strip()
