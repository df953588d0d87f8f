"""Measurements of a user's file, for the tests: some of them kill processes in the middle of a sweep."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def bodies(run):
    return run.count


def both(run):
    return {"frames": len(run), "law": run.law}


def wrong(run):
    if run.count == 9:
        raise RuntimeError("nine bodies")
    return float(run.count)


def _once(run) -> bool:
    """True in the first run of a large scene, as the file MARK in the environment records."""
    mark = Path(os.environ["MARK"])
    if run.count != 16 or mark.exists():
        return False
    mark.touch()
    return True


def worker_dies_once(run):
    if _once(run):
        os.kill(os.getpid(), signal.SIGKILL)
    return run.count


def sweep_dies_once(run):
    if _once(run):
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return run.count


def interrupted_once(run):
    if _once(run):
        os.kill(os.getppid(), signal.SIGINT)
        signal.pause()
    return run.count


def always_dies(run):
    if run.count == 16:
        os.kill(os.getpid(), signal.SIGKILL)
    return run.count
