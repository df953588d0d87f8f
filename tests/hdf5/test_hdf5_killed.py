"""kill -9 at any moment: the file opens, and the run goes on to the same bits."""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path

import h5py
import pytest
from tests.hdf5.test_safe_file import Died
from tests.trajectory import small

from carom.hdf5 import safe_file
from carom.hdf5.journal import journal_of
from carom.trajectory import Recorder, Trajectory

STEPS = 200
OPERATIONS = 400  # of a process, at most, before it is killed; a whole run has about six times as many


def record(path: Path) -> None:
    """Records in a tight loop, from the beginning or from where it was stopped, with many checkpoints."""
    if path.exists():
        with Trajectory(path) as run:
            if run.finished:  # killed after its last commit
                return
        resumed = Recorder.resume(path)
        recorder, fake = resumed.recorder, small.Fake(resumed.state, resumed.memory)
    else:
        recorder, fake = small.start(path, steps=STEPS)
    small.go(recorder, fake, STEPS, checkpoint_every=3)
    recorder.finish(fake.state)


def warm_up(path: Path) -> None:
    """Compiled code is loaded here once, and not in every process."""
    recorder, _ = small.start(path)
    recorder.abort()
    small.resumed_run(path).close()


def run_and_kill(path: Path, after: int) -> bool:
    """Records in another process, which kills itself at write operation `after`; whether it was killed before its end.

    Moments are counted in write operations and not in seconds, so that the test does not depend on the machine.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            kill_at_operation(after)
            record(path)
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the recording raised an error"
    return os.WIFSIGNALED(status)


def kill_at_operation(number: int) -> None:
    """Sends SIGKILL to this process in the middle of its write, rename, removal or truncation `number`."""
    left = [number]
    write_all = safe_file.write_all

    def counted(function):
        def operation(*arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return operation

    def write(raw, at, view):
        left[0] -= 1
        if left[0] < 0:
            write_all(raw, at, view[: len(view) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        write_all(raw, at, view)

    safe_file.write_all = write
    safe_file.SafeFile._resize = counted(safe_file.SafeFile._resize)
    os.replace = counted(os.replace)
    os.fsync = counted(os.fsync)
    Path.unlink = counted(Path.unlink)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_a_process_killed_at_random_moments(tmp_path, seed):
    warm_up(tmp_path / "first.h5")
    path, chance = tmp_path / "run.h5", random.Random(seed)
    kills, last = 0, -1
    while run_and_kill(path, chance.randrange(OPERATIONS)):
        kills += 1
        assert kills < 200, "the run does not get on"
        if not path.exists():
            continue
        if not journal_of(path).exists():
            with h5py.File(path) as plain:
                assert plain["steps"].shape[0] > last
        with Trajectory(path) as run:
            assert run.last.step >= last
            last = run.last.step
            assert run.steps["step"][-1] == last
            assert run.positions[-1].shape == (7, 2)
    assert kills >= 3, "the process was hardly ever killed"
    with Trajectory(path) as run, small.whole_run(None, STEPS) as whole:
        assert run.finished
        assert small.content(run) == small.content(whole)


class Witness:
    """Copies the folder again and again while a run writes: what a process that died there would have left."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, copies: Path, every: int) -> None:
        self.folder, self.copies, self.every, self.until = folder, copies, every, every
        self.count = 0
        write_all, replace, unlink = safe_file.write_all, os.replace, Path.unlink

        def write(raw, at, view):
            done = 0
            while self.until < len(view) - done:
                write_all(raw, at + done, view[done : done + self.until])
                done += self.until
                self.copy()
            write_all(raw, at + done, view[done:])
            self.until -= len(view) - done

        def before(function):
            def witnessed(*arguments, **options):
                if self.count % 3 == 0:
                    self.copy()
                return function(*arguments, **options)

            return witnessed

        patch.setattr(safe_file, "write_all", write)
        patch.setattr(os, "replace", before(replace))
        patch.setattr(Path, "unlink", before(unlink))

    def copy(self) -> None:
        shutil.copytree(self.folder, self.copies / str(self.count))
        self.count += 1
        self.until = self.every


@pytest.mark.parametrize(
    ("taken_up", "every"),
    [(False, 57003), *(pytest.param(taken_up, 19001, marks=pytest.mark.long) for taken_up in (False, True))],
    ids=["few deaths", "first run", "resumed run"],
)
def test_death_after_any_byte(tmp_path, taken_up, every):
    """Many deaths in one run: inside frames, the journal, before and after it gets its name, while it is applied."""
    with small.whole_run(None) as whole:
        expected = small.content(whole)
    (tmp_path / "run").mkdir()
    recorder, fake = small.start(tmp_path / "run" / "run.h5")
    if taken_up:
        small.go(recorder, fake, 14, checkpoint_every=7)
        recorder.abort()
        resumed = Recorder.resume(tmp_path / "run" / "run.h5")
        recorder, fake = resumed.recorder, small.Fake(resumed.state, resumed.memory)
    with pytest.MonkeyPatch.context() as patch:
        witness = Witness(patch, tmp_path / "run", tmp_path, every)
        small.go(recorder, fake, small.STEPS, checkpoint_every=7)
        recorder.finish(fake.state).close()
    redone = finished = 0
    for k in range(witness.count):
        path = tmp_path / str(k) / "run.h5"
        redone += journal_of(path).exists()
        if not journal_of(path).exists():
            h5py.File(path).close()
        with Trajectory(path) as run:
            assert run.last.step % 7 == 0 or run.finished
            finished += run.finished
            if run.finished:
                continue
        with small.resumed_run(path) as run:
            assert small.content(run) == expected
    assert witness.count - finished > 285_015 / every
    assert redone > 38_002 / every, "no death fell into the application of a journal"


@pytest.mark.parametrize("moment", ["before the journal has its name", "before it is applied", "before it is removed"])
def test_death_around_the_journal(tmp_path, monkeypatch, moment):
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "run.h5"
    recorder, fake = small.start(path)
    small.go(recorder, fake, 9)

    def die(*_, **__):
        shutil.copytree(path.parent, tmp_path / "dead")
        raise Died

    with monkeypatch.context() as patch:
        if moment == "before the journal has its name":
            patch.setattr(os, "replace", die)
        elif moment == "before it is applied":
            patch.setattr(safe_file.SafeFile, "_apply", die)
        else:
            patch.setattr(Path, "unlink", die)
        with pytest.raises(Died):
            small.go(recorder, fake, 10)
    recorder.abort()
    dead = tmp_path / "dead" / "run.h5"
    last = 5 if moment == "before the journal has its name" else 10
    before = dead.read_bytes()
    with Trajectory(dead) as run:
        assert run.last.step == last
        assert len(run.steps) == last + 1
    assert dead.read_bytes() == before, "a reader does not apply the journal"
    with small.resumed_run(dead) as run, small.whole_run(None) as whole:
        assert small.content(run) == small.content(whole)
