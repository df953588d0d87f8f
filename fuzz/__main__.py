"""`make fuzz`: random cases against the library, failures saved so that they can be replayed.

    python -m fuzz [--count N] [--seconds S] [--seed S] [--only I] [-o FOLDER] [NAME ...]

Each campaign runs until `--count` cases or `--seconds` are over. `--only 17 --seed 3 NAME` repeats one case in this
process, with its traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path
from time import perf_counter
from typing import Any

from .campaign import campaign, drawn, names

LONGER = 40.0
"""Factor on the limit of time in which a case that was too slow may compile kernels, before it is tried again."""
WALL = 10.0
"""Wall time per CPU time that a case may take: it may wait for other processes, not forever."""
SLOWEST_SHOWN = 3
"""Cases that the report of a campaign names for their CPU time."""


def arguments(given: list[str]) -> argparse.Namespace:
    """The command line."""
    known = names()
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Random cases against the library.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}; all by default")
    parser.add_argument("--count", type=int, default=1_000_000_000, help="cases of each campaign")
    parser.add_argument("--seconds", type=float, default=40.0, help="wall time of each campaign (default 40)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, which is printed")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, default=None, metavar="I", help="repeat case I in this process")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/fuzz"), help="folder for failures")
    chosen = parser.parse_args(given)
    for name in chosen.names:
        if name not in known:
            parser.error(f"unknown campaign {name!r}: one of {', '.join(known)}")
    if chosen.only is not None and (len(chosen.names) != 1 or chosen.seed is None):
        parser.error("--only needs one campaign and its --seed")
    chosen.names = chosen.names or known
    if chosen.seed is None:
        chosen.seed = int.from_bytes(os.urandom(3), "little")
    return chosen


class Worker:
    """A process that runs cases of one campaign; a new one is started after it has died."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        self.command = [sys.executable, "-m", "fuzz.worker", name, str(seed), str(folder)]
        self.limit = campaign(name).limit_seconds
        self.process: subprocess.Popen[str] | None = None

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        return self.process

    def close(self) -> None:
        """End the process and what it has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _tried(self, index: int, factor: float) -> dict[str, Any]:
        """The answer for one case, or a failure that says how the process ended."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{index} {factor}\n")
        process.stdin.flush()
        wall = WALL * self.limit * factor + 60.0  # and a minute for imports on a busy machine
        ready, _, _ = select.select([process.stdout], [], [], wall)
        line = process.stdout.readline() if ready else ""
        if line:
            return dict(json.loads(line))
        code = process.wait() if ready else None
        self.close()
        if code is None or code == -signal.SIGXCPU:
            wrong = f"hang: more than {self.limit:g} CPU s"
        else:
            wrong = f"crash: the process ended with {signal.Signals(-code).name if code < 0 else code}"
        return {"index": index, "group": "ended", "failure": wrong, "seconds": self.limit}

    def run(self, index: int) -> dict[str, Any]:
        """Run one case. One that takes too long is given time to compile its kernels, and then tried again."""
        result = self._tried(index, 1.0)
        if str(result["failure"]).startswith("hang"):
            longer = self._tried(index, LONGER)
            if not str(longer["failure"]).startswith("hang"):
                result = self._tried(index, 1.0)
        # The system need not end a process at once, or at all: what counts is the time that the case has taken.
        if result["failure"] is None and float(result["seconds"]) > self.limit:
            result = self._tried(index, 1.0)  # the first time kernels may have been compiled
            if result["failure"] is None and float(result["seconds"]) > self.limit:
                result["failure"] = f"slow: {float(result['seconds']):.1f} CPU s for the whole case"
        return result


def run(name: str, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """The answers of one campaign, in the order of the cases."""
    folder = chosen.output / name
    ending = perf_counter() + chosen.seconds
    answers: list[dict[str, Any]] = []
    following = iter(range(chosen.first, chosen.first + chosen.count))
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(name, chosen.seed, folder)
        while perf_counter() < ending:
            with lock:
                index = next(following, None)
            if index is None:
                break
            answers.append(worker.run(index))
            if sys.stderr.isatty():
                wrong = sum(a["failure"] is not None for a in answers)
                print(f"\r   {len(answers)} cases, {wrong} failures ", end="", file=sys.stderr, flush=True)
        worker.close()

    threads = [threading.Thread(target=work) for _ in range(chosen.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(answers, key=lambda a: int(a["index"]))


def report(name: str, answers: list[dict[str, Any]], chosen: argparse.Namespace) -> None:
    """Print the table of one campaign, its failures, and how to repeat them."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for found in answers:
        groups[found["group"]]["cases"] += 1
        if found["failure"] is not None:
            groups[found["group"]][str(found["failure"]).split(":")[0]] += 1
    for group in sorted(groups):
        counts = groups[group]
        wrong = ", ".join(f"{n} {kind}" for kind, n in counts.items() if kind != "cases") or "no failure"
        print(f"   {group}: {counts['cases']} cases, {wrong}")
    for found in sorted(answers, key=lambda a: -float(a["seconds"]))[:SLOWEST_SHOWN]:
        print(f"   slowest: case {found['index']} ({found['group']}), {float(found['seconds']):.1f} CPU s")
    for found in [a for a in answers if a["failure"] is not None][:20]:
        print(f"   FAILED {found['index']} ({found['group']}): {found['failure']}")
        print(f"          python -m fuzz {name} --seed {chosen.seed} --only {found['index']}")


def main(given: list[str]) -> int:
    """Run the chosen campaigns; 1 if a case fails."""
    chosen = arguments(given)
    if chosen.only is not None:
        return replay(chosen)
    print(f"seed {chosen.seed}; failures are saved in {chosen.output}\n")
    failed = 0
    for name in chosen.names:
        print(f"-- {name}: {campaign(name).title}", flush=True)
        start = perf_counter()
        answers = run(name, chosen)
        report(name, answers, chosen)
        print(f"   {perf_counter() - start:.0f} s\n", flush=True)
        wrong = [a for a in answers if a["failure"] is not None]
        failed += len(wrong)
        if wrong:
            (chosen.output / name).mkdir(parents=True, exist_ok=True)
            (chosen.output / name / f"{chosen.seed}.json").write_text(json.dumps(wrong, indent=1))
    print(f"{failed} failures" if failed else "no failure")
    return 1 if failed else 0


def replay(chosen: argparse.Namespace) -> int:
    """One case in this process, saved, with its traceback if it raises."""
    repeated = campaign(chosen.names[0])
    folder = chosen.output / chosen.names[0] / f"{chosen.seed}-{chosen.only}"
    folder.mkdir(parents=True, exist_ok=True)
    case = drawn(repeated, chosen.seed, chosen.only)
    repeated.save(case, folder)
    print(f"{repeated.group(case)}: {case!r}"[:2000])
    print(f"saved in {folder}")
    wrong = repeated.check(case, folder)
    print(wrong or "no failure")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
