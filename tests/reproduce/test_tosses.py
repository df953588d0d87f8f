"""Tosses of a cube: files of the data set, and coefficients that are found again in tosses that were simulated."""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from carom.draw.style import written_as
from carom.errors import ProblemError
from carom.geometry.rotations import matrices
from carom.reproduce import Case, tosses
from carom.simulation import completed, simulate

FRICTION, RESTITUTION = 0.21, 0.25


def tensor_file(path: Path, rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as the data set has them: header, description of the tensor, keys, length, numbers (n, 19)."""
    parent, module = ModuleType("torch"), ModuleType("torch._utils")

    def _rebuild_tensor_v2(*_):
        raise NotImplementedError

    class FloatStorage:
        pass

    _rebuild_tensor_v2.__module__, FloatStorage.__module__ = "torch._utils", "torch"
    _rebuild_tensor_v2.__qualname__, FloatStorage.__qualname__ = "_rebuild_tensor_v2", "FloatStorage"
    module._rebuild_tensor_v2, parent.FloatStorage, parent._utils = _rebuild_tensor_v2, FloatStorage, module
    monkeypatch.setitem(sys.modules, "torch", parent)
    monkeypatch.setitem(sys.modules, "torch._utils", module)

    class Tensor:
        def __reduce__(self):
            size = (1, *rows.shape)
            return _rebuild_tensor_v2, (storage, 0, size, (rows.size, rows.shape[1], 1), False, OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            return ("storage", FloatStorage, "1", "cpu", rows.size, None) if thing is storage else None

    storage = object()
    with path.open("wb") as file:
        for part in (tosses.MAGIC, tosses.PROTOCOL, {"little_endian": True}):
            pickle.dump(part, file, protocol=2)
        Pickler(file, protocol=2).dump(Tensor())
        pickle.dump(["1"], file, protocol=2)
        file.write(rows.size.to_bytes(8, "little"))
        file.write(rows.astype("<f4").tobytes())
    return path


def films(folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated tosses with known coefficients, stored as the data set stores its own."""
    rng = np.random.default_rng(5)
    begun = [
        tosses.Toss(
            np.array([[0.0, 0.0, rng.uniform(0.12, 0.2)]] * 150),
            np.tile(turn / np.linalg.norm(turn), (150, 1)),
            rng.uniform((-1.0, -1.0, -0.5), (1.0, 1.0, 0.5)),
            rng.uniform(-6.0, 6.0, 3),
        )
        for turn in rng.normal(size=(count, 4))
    ]
    run = completed(simulate(tosses.cubes(begun, RESTITUTION, FRICTION), "gr"))
    for k in range(count):
        place = (run.positions[:, k] - tosses._places(count)[k]) / tosses.HALF
        turn = np.ascontiguousarray(run.orientations[:, k])
        rows = np.zeros((len(place), tosses.COLUMNS))
        rows[:, :3], rows[:, 3:7] = place, turn
        early = begun[k].velocity + np.array([0.0, 0.0, 0.5 * tosses.GRAVITY / tosses.RATE])
        rows[0, 7:10] = early / tosses.HALF
        rows[0, 10:13] = matrices(turn[:1])[0].T @ begun[k].spin
        tensor_file(folder / f"{k}.pt", rows, monkeypatch)


def test_coefficients_of_simulated_tosses_are_found_again(tmp_path, monkeypatch):
    """The files are in single precision: errors of 1e-7 grow in the impacts, nothing else differs."""
    folder = tmp_path / "data"
    folder.mkdir()
    films(folder, 8, monkeypatch)
    with written_as(("png",)):
        found = tosses.run(
            Case(tmp_path, data=folder), ("gr",), (0.17, 0.19, 0.21, 0.23, 0.25), (0.05, 0.15, 0.25, 0.35, 0.45)
        )
    value = found.numbers
    assert value["tosses, half of them fitted"] == 8
    # the parabola through errors that have a kink at their minimum is off by less than half a step
    assert value["gr: coefficient of friction"] == pytest.approx(FRICTION, abs=0.01)
    assert value["gr: coefficient of restitution"] == pytest.approx(RESTITUTION, abs=0.05)
    assert value["gr without friction: error"] > 10.0 * value["gr: error"]
    read = tosses.read_tosses(folder)
    exact = tosses.again(read, "gr", RESTITUTION, FRICTION)
    assert np.median(exact.errors) < 1e-3 < value["gr without friction: error"]


def test_lowest_of_a_parabola_and_at_an_end():
    x = (0.0, 0.1, 0.2, 0.3)
    assert tosses.lowest(x, (np.array(x) - 0.17) ** 2) == pytest.approx(0.17, abs=1e-12)
    assert tosses.lowest(x, np.array(x)) == pytest.approx(0.0) and tosses.lowest(x, -np.array(x)) == pytest.approx(0.3)


def test_bad_files_are_refused_in_one_line(tmp_path, monkeypatch):
    """No tosses, other columns, no unit quaternions, meters, cut off, and a pickle that would call something."""
    with pytest.raises(ProblemError, match=r"0\.pt, 1\.pt"):
        tosses.read_tosses(tmp_path)
    rows = np.zeros((5, tosses.COLUMNS))
    rows[:, 2] = rows[:, 3] = 1.0
    good = tensor_file(tmp_path / "0.pt", rows, monkeypatch)
    assert len(tosses.read_tosses(tmp_path)) == 1
    whole = good.read_bytes()
    meters, other = rows.copy(), rows.copy()
    meters[:, 2], other[:, 3] = 0.0524, 0.5
    for wrong, says in ((meters, "half edges"), (other, "quaternions"), (rows[:, :13], r"\(frames, 19\)")):
        tensor_file(good, wrong, monkeypatch)
        with pytest.raises(ProblemError, match=says):
            tosses.read_tosses(tmp_path)
    called = (
        pickle.dumps(tosses.MAGIC, 2) + pickle.dumps(tosses.PROTOCOL, 2) + pickle.dumps({}, 2) + pickle.dumps(print)
    )
    for damaged in (whole[:-8], whole[:40], b"", b"no pickle", called):
        good.write_bytes(damaged)
        with pytest.raises(ProblemError, match="a tensor file"):
            tosses.read_tosses(tmp_path)


def test_an_entry_that_needs_data_says_so(tmp_path):
    from carom.reproduce import run

    with pytest.raises(ProblemError, match="DAIRLab/contact-nets"):
        run("laboratory-tosses", out=tmp_path)
