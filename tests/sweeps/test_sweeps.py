"""Sweeps: the same table however it is computed, interrupted and continued; failed runs; folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import carom
from carom import laws
from carom.errors import ProblemError
from carom.sweeps import Plan, load, store
from carom.sweeps.plan import read_plan

OWN = str(Path(__file__).with_name("own_measures.py"))
SHORT = {"duration": 0.1}  # ten steps of a gas in a drum
MEASURES = ["state_hash", "energy_drift", "max_speed", "momentum_drift"]
PLAN = Plan("energy_drum", {"side": [3, 4]}, law=["gr", "qce"], settings=SHORT, seeds=2, measure=MEASURES)


@pytest.fixture(scope="module")
def serial():
    """The rows of PLAN, computed one after the other in this process."""
    return carom.sweep(PLAN, workers=0).comparable()


def table(folder: Path):
    """The Parquet table without the column that differs by nature."""
    return parquet.read_table(folder / store.TABLE).drop_columns(list(store.TIMED))


def test_the_rows_hold_what_a_single_run_gives(serial):
    row = serial[5]
    run = carom.simulate(carom.scenes.energy_drum(side=4, seed=0), law="qce", duration=0.1)
    assert (row["side"], row["law"], row["seed"], row["status"], row["error"]) == (4, "qce", 0, "done", None)
    assert row["state_hash"] == run.state_hash and row["momentum_drift"] is None
    assert row["carom"] == carom.__version__ and len({r["state_hash"] for r in serial}) > 2


def test_processes_give_the_same_table_and_a_second_call_computes_nothing(serial, tmp_path):
    told = []
    first = carom.sweep(PLAN, out=tmp_path / "a", workers=2, progress=told.append)
    assert first.comparable() == serial == load(tmp_path / "a").comparable()
    assert [p.done for p in told] == list(range(9)) and told[-1].left == 0.0
    read = parquet.read_table(tmp_path / "a" / store.TABLE)
    assert read.column_names == first.columns and read.to_pylist() == first.rows
    before = (tmp_path / "a" / store.JOURNAL).read_bytes()
    assert carom.sweep(PLAN, out=tmp_path / "a", workers=0).rows == first.rows
    assert (tmp_path / "a" / store.JOURNAL).read_bytes() == before


@pytest.mark.long
def test_the_runs_of_a_lost_worker_are_done_again(serial, tmp_path, monkeypatch):
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    plan = Plan("energy_drum", {"side": [3, 4]}, settings=SHORT, measure=["state_hash", f"{OWN}:worker_dies_once"])
    found = carom.sweep(plan, workers=1)
    assert (tmp_path / "mark").exists()
    assert [r["status"] for r in found.rows] == ["done"] * 2
    assert [r["state_hash"] for r in found.rows] == [
        r["state_hash"] for r in serial if (r["law"], r["seed"]) == ("gr", 0)
    ]


@pytest.mark.long
def test_a_run_that_kills_its_workers_is_a_failed_row():
    plan = Plan("energy_drum", {"side": [4, 3]}, settings=SHORT, measure=[f"{OWN}:always_dies"])
    first, second = carom.sweep(plan, workers=1).rows
    assert first["status"] == "failed" and first["error"] == "its worker died 3 times, last with signal 9"
    assert second["status"] == "done"


PLAN_FILE = """
[sweep]
scene = "energy_drum"
measure = ["state_hash", "{own}"]
[parameters]
side = [3, 4, 5]
[settings]
duration = 0.1
"""


@pytest.mark.long
@pytest.mark.parametrize(("how", "code"), [("sweep_dies_once", -9), ("interrupted_once", 130)])
def test_a_sweep_that_is_killed_or_interrupted_is_continued(how, code, tmp_path, monkeypatch):
    """In the second of three runs the parent gets SIGKILL, or SIGINT, after which its table has the first run."""
    (tmp_path / "plan.toml").write_text(PLAN_FILE.format(own=f"{OWN}:{how}"))
    command = [sys.executable, "-m", "carom", "sweep", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out")]
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    killed = subprocess.run([*command, "--workers", "1"], capture_output=True, text=True, timeout=120)
    assert killed.returncode == code, killed.stderr
    assert [row["side"] for row in load(tmp_path / "out").rows] == [3]
    if code == 130:
        assert table(tmp_path / "out").num_rows == 1
        assert "stopped: 1 of 3 runs" in killed.stderr
    # A line that was being written when the process died: the end of the journal is cut off.
    with (tmp_path / "out" / store.JOURNAL).open("ab") as journal:
        journal.write(b'{"id": 1, "status": "do')
    again = carom.sweep(carom.sweeps.read_plan(tmp_path / "plan.toml"), out=tmp_path / "out", workers=0)
    plain = carom.sweep("energy_drum", {"side": [3, 4, 5]}, settings=SHORT, measure="state_hash", workers=0)
    assert again["state_hash"] == plain["state_hash"] and again["id"] == [0, 1, 2]
    assert table(tmp_path / "out")["state_hash"].to_pylist() == plain["state_hash"]


def test_a_failed_run_is_a_row_with_its_error(tmp_path):
    plan = Plan("energy_drum", {"side": [3, 4]}, settings=SHORT, measure=["energy", f"{OWN}:wrong"])
    found = carom.sweep(plan, out=tmp_path / "out", workers=0)
    assert [row["status"] for row in found.rows] == ["failed", "done"]
    assert found.failed[0]["error"] == "RuntimeError: nine bodies (own_measures.py, line 20)"
    assert found.rows[1]["wrong"] == 16.0 and "wrong" not in found.rows[0]
    assert parquet.read_table(tmp_path / "out" / store.TABLE)["wrong"].to_pylist() == [None, 16.0]


def test_own_measurements_and_kept_trajectories(tmp_path):
    plan = Plan("energy_drum", {"side": [3]}, settings=SHORT, measure=[f"{OWN}:both", "state_hash"], keep=True)
    row = carom.sweep(plan, out=tmp_path / "out", workers=0).rows[0]
    assert (row["both_frames"], row["both_law"]) == (2, "gr")
    with carom.Trajectory(tmp_path / "out" / "runs" / "000000.h5") as run:
        assert run.finished and run.state_hash == row["state_hash"]


def test_functions_need_a_module_unless_they_stay_here():
    def speed(run):
        return float(run.velocities[0].max())

    assert carom.sweep("energy_drum", {"side": [3]}, settings=SHORT, measure=speed, workers=0).rows[0]["speed"] > 0.0
    with pytest.raises(ProblemError, match="a function of a module that can be imported"):
        carom.sweep("energy_drum", {"side": [3]}, settings=SHORT, measure=speed, workers=1)


# ---- folders


def test_another_plan_in_the_same_folder_is_refused(tmp_path):
    small = {"scene": "energy_drum", "settings": SHORT, "measure": "energy"}
    carom.sweep(**small, parameters={"side": [3]}, out=tmp_path, workers=0)
    content = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ProblemError, match=r"has another plan \(different: side, seeds\)"):
        carom.sweep(**small, parameters={"side": [4]}, seeds=2, out=tmp_path, workers=0)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == content


def test_folders_that_cannot_be_used(tmp_path):
    plan = Plan("energy_drum", {"side": [3]}, settings=SHORT)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    for path, text in (
        (tmp_path / "file", "a folder, or a name for a new one"),
        (tmp_path / "file" / "below", "a folder that can be written"),
        (tmp_path / "full", "new, empty, or of this sweep"),
        (Path("/proc/sweep"), "a folder that can be written"),  # read-only, for the superuser as well
    ):
        with pytest.raises(ProblemError, match=text):
            carom.sweep(plan, out=path, workers=0)
    with pytest.raises(ProblemError, match="the folder of a sweep"):
        load(tmp_path / "full")


def test_a_full_disk_leaves_complete_records(tmp_path, monkeypatch):
    """The second record finds no room; the first one stays, and the sweep is continued when there is room again."""
    plan = Plan("energy_drum", {"side": [3, 4]}, settings=SHORT, measure="state_hash")
    add, calls = store.Folder.add, []

    def full(self, record):
        calls.append(record)
        if len(calls) == 2:
            real = self._file

            class Full:
                def __getattr__(self, name):
                    return getattr(real, name)

                def write(self, data):
                    real.write(data[:10])
                    raise OSError(28, "No space left on device")

            self._file = Full()
        add(self, record)

    monkeypatch.setattr(store.Folder, "add", full)
    with pytest.raises(ProblemError, match=r"can be written \(No space left on device\)"):
        carom.sweep(plan, out=tmp_path / "out", workers=0)
    monkeypatch.undo()
    lines = (tmp_path / "out" / store.JOURNAL).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [0]
    assert carom.sweep(plan, out=tmp_path / "out", workers=0)["id"] == [0, 1]


def test_one_sweep_at_a_time(tmp_path):
    plan = Plan("energy_drum", {"side": [3]}, settings=SHORT)
    carom.sweep(plan, out=tmp_path, workers=0)
    folder = store.Folder(tmp_path, carom.sweeps.plan.prepared(plan))
    with pytest.raises(ProblemError, match="no other sweep is running"):
        carom.sweep(plan, out=tmp_path, workers=0)
    folder.close()


# ---- Dask


def test_an_unreachable_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr(carom.sweeps.workers, "CONNECT", 0.2)
    with pytest.raises(
        ProblemError, match=r"scheduler: got tcp://127\.0\.0\.1:9; expected the address of a Dask scheduler"
    ):
        carom.sweep("energy_drum", {"side": [3]}, settings=SHORT, scheduler="tcp://127.0.0.1:9", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_cluster_gives_the_same_table(serial):
    """Two workers that are threads of this process: quick to start; processes follow below."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        assert carom.sweep(PLAN, scheduler=cluster.scheduler_address).comparable() == serial


MANY_FILE = """
[sweep]
scene = "energy_drum"
law = ["gr", "qce"]
seeds = 2
[parameters]
spacing = {from = 2.5, to = 3.5, count = 50}
side = 4
[settings]
duration = 0.1
"""


@pytest.mark.long
def test_two_hundred_runs_survive_the_death_of_a_worker_and_of_the_whole_sweep(tmp_path):
    """On two processes, killed in the middle and resumed, and on a Dask cluster that loses a worker: one table."""
    from distributed import LocalCluster

    file = tmp_path / "plan.toml"
    file.write_text(MANY_FILE)
    plan = read_plan(file)
    serial = carom.sweep(plan, out=tmp_path / "serial", workers=0)
    assert len(serial) == 200

    journal = tmp_path / "processes" / store.JOURNAL
    command = [sys.executable, "-m", "carom", "sweep", str(file), "-o", str(journal.parent), "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 60):
            time.sleep(0.02)
        process.kill()
    assert process.returncode == -9 and 60 <= len(load(journal.parent)) < 200
    resumed = carom.sweep(plan, out=journal.parent, workers=2)
    assert resumed.comparable() == serial.comparable()
    assert table(journal.parent).equals(table(tmp_path / "serial"))

    def kill_one(progress):
        if progress.done == 20:
            os.kill(next(iter(cluster.workers.values())).process.process.pid, 9)

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = carom.sweep(plan, out=tmp_path / "dask", scheduler=cluster.scheduler_address, progress=kill_one)
    assert found.comparable() == serial.comparable()
    assert table(tmp_path / "dask").equals(table(tmp_path / "serial"))


def test_a_law_of_the_users_own_file(tmp_path, monkeypatch):
    """Workers get the text of the file; its column has the name of the law, its fingerprint the content of the file."""
    monkeypatch.setattr(laws, "_LAWS", dict(laws._LAWS))
    law = tmp_path / "mine.py"
    law.write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom carom.laws import LCP\n\n\n"
        '@dataclass(frozen=True)\nclass Mine(LCP):\n    name: ClassVar[str] = "mine"\n'
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[sweep]\nscene = "energy_drum"\nlaw = ["lcp", "mine.py:Mine"]\nmeasure = "energy_drift"\nseeds = 2\n'
        "[parameters]\nside = 3\n[settings]\nduration = 0.5\n"
    )
    found = carom.sweep(read_plan(plan), workers=1, out=tmp_path / "out")
    assert found["law"] == ["lcp", "mine"] * 2 and not found.failed
    drift = found["energy_drift"]
    assert drift[0::2] == drift[1::2]  # the law is lcp by another name
    law.write_text(law.read_text() + "# changed\n")
    with pytest.raises(ProblemError, match="different: law"):
        carom.sweep(read_plan(plan), workers=1, out=tmp_path / "out")
    with pytest.raises(ProblemError, match=r"unknown law in .*mine.py 'Yours'"):
        carom.sweep("energy_drum", law=f"{law}:Yours", workers=0)
