"""kill -9 at any moment: the file opens, and the run goes on to the same bits."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest
from tests.trajectory import small
from tests.trajectory.test_safe_file import Died, Mortal

from carom.trajectory import Trajectory, safe_file
from carom.trajectory.safe_file import journal_of

STEPS = 400
ROOT = Path(__file__).resolve().parents[2]

# Records in a tight loop, with a checkpoint at every third step, from the beginning or from where it was stopped.
PROGRAM = f"""
import sys
from pathlib import Path
from carom.trajectory import Recorder
from tests.trajectory import small
path = Path(sys.argv[1])
if path.exists():
    resumed = Recorder.resume(path)
    recorder, fake = resumed.recorder, small.Fake(resumed.state, resumed.memory)
else:
    recorder, fake = small.start(path, steps={STEPS})
print("go", flush=True)
small.go(recorder, fake, {STEPS}, checkpoint_every=3)
recorder.finish(fake.state)
"""


@pytest.fixture(scope="module")
def expected():
    with small.whole_run(None, STEPS) as whole:
        return small.content(whole)


def run_and_kill(path: Path, after: float) -> bool:
    """Whether the process was killed before its end."""
    paths = os.pathsep.join([str(ROOT), *sys.path])
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=ROOT,
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    child.stdout.close()
    return child.wait() == -signal.SIGKILL


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_a_process_killed_at_random_moments(tmp_path, expected, seed):
    path, chance = tmp_path / "run.h5", random.Random(seed)
    kills, last = 0, -1
    while run_and_kill(path, chance.uniform(0.0, 0.3)):
        kills += 1
        if not journal_of(path).exists():
            with h5py.File(path) as plain:
                assert plain["steps"].shape[0] > last
        with Trajectory(path) as run:
            assert run.last.step >= last
            last = run.last.step
            assert run.steps["step"][-1] == last
            assert run.positions[-1].shape == (7, 2)
        assert kills < 60, "the run does not get on"
    assert kills >= 2, "the process was never killed in the middle"
    with Trajectory(path) as run:
        assert run.finished
        assert small.content(run) == expected


def record_until_death(path: Path, budget: int) -> bool:
    """Records with writes that stop after `budget` bytes; True if it came to the end."""
    with pytest.MonkeyPatch.context() as patch:
        recorder, fake = small.start(path)
        Mortal(patch, budget)
        try:
            small.go(recorder, fake, small.STEPS, checkpoint_every=7)
            recorder.finish(fake.state).close()
            return True
        except Died:
            return False
        finally:
            # The process is gone: its descriptors are closed, and nothing more reaches the disk.
            recorder._safe.journal = None
            recorder._safe._dropped = True
            recorder._safe.raw.close()


def test_writes_that_stop_at_any_byte(tmp_path):
    """Death at a few hundred places of one run: inside frames, the journal, its naming, its application."""
    with small.whole_run(None) as whole:
        expected = small.content(whole)
    path, budget, deaths, redone = tmp_path / "run.h5", 0, 0, 0
    while not record_until_death(path, budget):
        deaths += 1
        redone += journal_of(path).exists()
        if not journal_of(path).exists():
            h5py.File(path).close()
        with Trajectory(path) as run:
            assert run.last.step % 7 == 0
        with small.resumed_run(path) as run:
            assert small.content(run) == expected
        path.unlink()
        budget += 997 if deaths % 2 else 1009
    assert deaths > 50
    assert redone > 5, "no death fell into the application of a journal"


@pytest.mark.parametrize("moment", ["before the journal has its name", "before it is applied", "before it is removed"])
def test_death_around_the_journal(tmp_path, monkeypatch, moment):
    path = tmp_path / "run.h5"
    recorder, fake = small.start(path)
    small.go(recorder, fake, 9)

    def die(*_, **__):
        shutil.copytree(tmp_path, tmp_path.with_name("dead"), dirs_exist_ok=True)
        raise Died

    with monkeypatch.context() as patch:
        if moment == "before the journal has its name":
            patch.setattr(safe_file.os, "replace", die)
        elif moment == "before it is applied":
            patch.setattr(safe_file.SafeFile, "_apply", die)
        else:
            patch.setattr(Path, "unlink", die)
        with pytest.raises(Died):
            small.go(recorder, fake, 10)
    recorder.abort()
    dead = tmp_path.with_name("dead") / "run.h5"
    with Trajectory(dead) as run:
        assert run.last.step == (5 if moment == "before the journal has its name" else 10)
    with h5py.File(dead) as plain:
        assert plain["steps"].shape[0] == run.last.step + 1 if run._file else True
    with small.resumed_run(dead) as run, small.whole_run(None) as whole:
        assert small.content(run) == small.content(whole)
