"""The process that runs cases: it reads their numbers from standard input and answers one line of JSON for each.

    python -m fuzz.worker NAME SEED FOLDER

A case that takes more CPU time than the limit ends the process with SIGXCPU, so that endless loops in compiled code
end, too. More memory than the limit raises MemoryError or ends the process.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
from pathlib import Path
from time import process_time
from typing import TextIO

from .campaign import Campaign, campaign, drawn, failure

PAGE = resource.getpagesize()


def memory_taken() -> int:
    """Bytes of address space that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * PAGE if Path("/proc/self/statm").exists() else 0


def limit_memory(chosen: Campaign) -> None:
    """Let the process take `limit_bytes` more than it has now, where the system can tell how much that is."""
    if taken := memory_taken():
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (taken + chosen.limit_bytes, hard))


def limit_time(seconds: float) -> None:
    """Let the process take so many more seconds of CPU time."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(process_time() + seconds) + 1, hard))


def answer(chosen: Campaign, seed: int, index: int, folder: Path) -> dict[str, object]:
    """Run one case in an empty folder. A failed one is saved there; otherwise the folder is removed."""
    place = folder / f"{seed}-{index}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    start = process_time()
    case = drawn(chosen, seed, index)
    wrong = failure(chosen, case, place)
    seconds = process_time() - start
    if wrong is None:
        shutil.rmtree(place, ignore_errors=True)
    else:
        chosen.save(case, place)
    return {"index": index, "group": chosen.group(case), "failure": wrong, "seconds": seconds}


def serve(name: str, seed: int, folder: Path, numbers: TextIO, answers: TextIO) -> None:
    """Answer each line "INDEX FACTOR"; FACTOR multiplies the limit of time."""
    chosen = campaign(name)
    limit_memory(chosen)
    for line in numbers:
        index, factor = line.split()
        limit_time(chosen.limit_seconds * float(factor))
        print(json.dumps(answer(chosen, seed, int(index), folder)), file=answers, flush=True)


if __name__ == "__main__":
    # What a case prints must not mix with the answers.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.stdin, pipe)
