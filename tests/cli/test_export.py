"""`carom export`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.trajectory.small import whole_run


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole_run(tmp_path / "run.h5").close()
    return "run.h5"


def test_frames_are_chosen(carom, run):
    ended = carom("export", run, "-o", "out.npz", "--every", "3", "--from", "0.1", "--to", "0.3", "--json")
    assert ended.code == 0 and json.loads(ended.out)["written"] == ["out.npz"]
    with np.load("out.npz") as found:
        np.testing.assert_allclose(found["time"], [0.1, 0.16, 0.22, 0.28], rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "out.fbx"], ["out.fbx", ".glb"]),
        (["-o", "run.h5/out.glb"], ["folder"]),
        (["-o", "run.npz", "--every", "x"], ["--every", "whole number"]),
        (["-o", "run.npz", "--from", "9"], ["from 0 to 0.4"]),
    ],
)
def test_bad_input_is_one_line(carom, run, arguments, words):
    ended = carom("export", run, *arguments)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert all(word in ended.err for word in words), ended.err


def test_an_existing_file_needs_overwrite(carom, run):
    assert carom("export", run, "-o", "out.csv").code == 0
    ended = carom("export", run, "-o", "out.csv")
    assert ended.code == 2 and "--overwrite" in ended.err
    assert carom("export", run, "-o", "out.csv", "--overwrite").code == 0
