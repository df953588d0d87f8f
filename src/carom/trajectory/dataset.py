"""A run as an xarray Dataset: labeled dimensions, coordinates and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import SPIN_SHAPE

if TYPE_CHECKING:
    from .reader import Trajectory

AXES = ("x", "y", "z")
QUATERNION = ("w", "x", "y", "z")


def need_xarray() -> Any:
    """The package xarray; the error says how to install it."""
    try:
        import xarray
    except ImportError:
        how = "pip install xarray, or the extra `xarray` of Carom"
        raise ProblemError("xarray", "not installed", how, f"to_xarray needs the package xarray: {how}") from None
    return xarray


def dataset_of(run: Trajectory) -> Any:
    """The Dataset of `Trajectory.to_xarray`. Arrays are read from the file."""
    xarray = need_xarray()
    d = run.dimension
    body, vector = ("time", "body"), ("time", "body", "component")
    spin = body if not SPIN_SHAPE[d] else ("time", "body", "axis")
    variables = {
        "position": (vector, run.positions, "center of mass", "length"),
        "velocity": (vector, run.velocities, "velocity of the center of mass", "length/time"),
        "spin": (spin, run.spins, "angular velocity" + ("" if d == 2 else " about the principal axes"), "radian/time"),
        "mass": (("body",), run.geometry["mass"], "mass", "mass"),
        "radius": (("body",), run.geometry["radius"], "largest distance of the surface from the center", "length"),
        "kinetic": (("time",), run.kinetic, "kinetic energy of the free bodies", "mass*length^2/time^2"),
        "potential": (("time",), run.potential, "potential energy of the free bodies", "mass*length^2/time^2"),
    }
    if run.changes:
        variables["life"] = (body, run.lives, "m > 0: present for the m-th time; -m: absent after m times", "1")
    if d == 2:
        variables["angle"] = (body, run.orientations, "angle, not reduced modulo 2 pi", "radian")
    else:
        variables["orientation"] = ((*body, "quaternion"), run.orientations, "from principal axes to the world", "1")
    data = {
        name: (dims, np.asarray(values), {"long_name": title, "units": units})
        for name, (dims, values, title, units) in variables.items()
    }
    coordinates = {
        "time": ("time", run.time, {"long_name": "time", "units": "time"}),
        "step": ("time", run.step, {"long_name": "number of the step"}),
        "body": ("body", np.arange(run.count)),
        "free": ("body", np.asarray(run.geometry["free"], dtype=bool), {"long_name": "moved by impulses"}),
        "group": ("body", run.geometry["group"], {"long_name": "group of the scene"}),
        "component": ("component", list(AXES[:d])),
        **({} if d == 2 else {"axis": ("axis", list(AXES)), "quaternion": ("quaternion", list(QUATERNION))}),
    }
    about = {"scene": run.name, "law": run.law, "state_hash": run.state_hash, "carom_version": run.carom_version}
    return xarray.Dataset(data, coordinates, about | {"step_size": run.settings.step, "dimension": d})
