"""Bad parameters of every scene of the library: one line that names the parameter, before anything is built."""

from __future__ import annotations

import math

import pytest

from carom import ProblemError
from carom.build import build
from carom.scenes import SCENES, SCENES_2D

NUMBERS = [math.nan, math.inf, -math.inf, 1e300, -1e300, True, "3", "x", b"3", [], {}, 1j]
SIGNED = {  # numbers that may be negative
    *(("rolling_disc", "speed"), ("rolling_disc", "spin"), ("rolling_sphere", "speed"), ("trefoil_drop", "spin")),
    *(("sliding_box", "heading"), ("spinning_box", "spin"), ("spinning_top_free", "disturbance")),
}


def bad_values(scene: str, name: str, default: object) -> list[object]:
    """Values of a wrong type, not finite, too large, negative sizes and zero bodies."""
    if isinstance(default, bool):
        return [0, 1, 0.5, "yes", None, []]
    if isinstance(default, int):
        return [*NUMBERS, None, -1, 0.5, *([] if name == "seed" else [0])]
    if isinstance(default, tuple):
        vectors = [(1.0, 2.0), (1.0, 2.0, math.nan), (1.0, 2.0, "3"), (1.0, True, 1.0), (1j, 1.0, 1.0), (1e300,) * 3]
        return [1.0, None, "abc", b"abc", [], {}, *vectors, *([(1.0, -1.0, 1.0)] if name == "size" else [])]
    if isinstance(default, str):
        return [None, 1, True, b"a", [], {}, *([] if name == "mesh" else ["", "no such thing"])]
    none = [] if default is None else [None]
    return [*NUMBERS, *none, *([] if (scene, name) in SIGNED else [-1.0])]


@pytest.mark.parametrize("scene", SCENES)
def test_bad_parameters_are_refused_by_name(scene):
    entry = SCENES[scene]
    for name, default in entry.parameters.items():
        for value in bad_values(scene, name, default):
            try:
                entry(**{**entry.small, name: value})
            except ProblemError as refused:
                error = refused
            else:
                pytest.fail(f"{name} = {value!r} was accepted")
            assert error.field == name and name in str(error) and "\n" not in str(error), (name, value, str(error))


@pytest.mark.parametrize("scene", [name for name, entry in SCENES.items() if "mesh" in entry.parameters])
def test_a_mesh_that_is_open_or_missing_is_refused(scene, tmp_path):
    path = tmp_path / "open.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n")
    entry = SCENES[scene]
    for mesh, wanted in ((path, "an open mesh"), (tmp_path / "none.obj", "an existing file")):
        with pytest.raises(ProblemError, match=wanted):
            build(entry(**{**entry.small, "mesh": str(mesh)}))


@pytest.mark.parametrize("scene", SCENES)
def test_each_scene_is_listed_with_those_of_its_dimension(scene):
    entry = SCENES[scene]
    assert entry(**entry.small).dimension == (2 if scene in SCENES_2D else 3)
