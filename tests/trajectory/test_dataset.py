"""`Trajectory.to_xarray`: labels, units and numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.trajectory.small import whole_run

from carom.errors import ProblemError


def test_a_dataset_has_labels_units_and_the_numbers_of_the_run():
    pytest.importorskip("xarray")
    run = whole_run(None)
    found = run.to_xarray()
    assert dict(found.sizes) == {"time": len(run), "body": run.count, "component": 2}
    assert found.position.units == "length" and found.velocity.units == "length/time"
    height = found.position.sel(component="y", body=3).sel(time=run.time[5])
    assert float(height) == run.positions[5][3, 1]
    assert np.array_equal(found.angle, np.asarray(run.angles))
    assert np.array_equal(found.kinetic, run.kinetic)
    assert found.attrs["state_hash"] == run.state_hash


def test_a_dataset_survives_its_file(tmp_path):
    pytest.importorskip("xarray")
    with whole_run(tmp_path / "run.h5") as run:
        found, wanted = run.to_xarray(), np.asarray(run.positions)
    assert np.array_equal(found.position, wanted)


def test_the_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ProblemError, match=r"xarray.*extra `xarray`"):
        whole_run(None).to_xarray()
