"""Impact problems as JSON and npz files."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import ProblemError
from . import checks
from .mass import BlockMass, DiagonalMass, GeneralMass
from .problem import ImpactProblem, PhysicalRows, Symmetry

FORMAT = "carom impact problem"
VERSION = 1
_NEEDED = ("velocity", "block", "row_ptr", "row_body", "row_value")


def save(problem: ImpactProblem, path: Path) -> Path:
    """Writes the problem beside its final name first, so that a killed write leaves the old file whole."""
    data = _to_arrays(problem)
    if path.suffix == ".json":
        head = {"format": FORMAT, "version": VERSION, "name": problem.name}
        text = json.dumps({**head, **{key: value.tolist() for key, value in data.items()}}, indent=1)
        part = path.with_suffix(".json.part")
        part.write_text(text + "\n")
    elif path.suffix == ".npz":
        part = path.with_suffix(".npz.part")
        with part.open("wb") as handle:
            np.savez_compressed(handle, format=FORMAT, version=VERSION, name=problem.name, **data)
    else:
        raise ProblemError("file", str(path), "a name that ends in .json or .npz")
    os.replace(part, path)
    return path


def load(path: Path) -> ImpactProblem:
    """Reads a problem; a file that cannot be one is refused with the reason."""
    if not path.exists():
        raise ProblemError("file", str(path), "a file that exists")
    if path.suffix == ".json":
        data = _read_json(path)
    elif path.suffix == ".npz":
        data = _read_npz(path)
    else:
        raise ProblemError("file", str(path), "a name that ends in .json or .npz")
    return from_dict(data, str(path))


def from_dict(data: dict[str, Any], source: str = "problem") -> ImpactProblem:
    """A problem from the plain form that `save` writes, or from the short forms of the documentation.

    Short forms: `{"chain": {"masses": ..., "velocities": ...}}`, likewise "discs", "spheres", "blocks" and
    "matrices" with the arguments of the constructor of that name.
    """
    makers = {
        "chain": ImpactProblem.chain,
        "discs": ImpactProblem.from_discs,
        "spheres": ImpactProblem.from_spheres,
        "blocks": ImpactProblem.from_blocks,
        "matrices": ImpactProblem.from_matrices,
    }
    short = [key for key in makers if key in data]
    if len(short) == 1 and isinstance(data[short[0]], dict):
        try:
            return makers[short[0]](**data[short[0]])
        except TypeError as error:
            raise ProblemError(short[0], str(error), "the arguments of its constructor") from None
    if str(data.get("format", "")) != FORMAT:
        raise ProblemError(
            source, f"keys {sorted(map(str, data))[:6]}", f'"format": "{FORMAT}", or one of {", ".join(makers)}'
        )
    if int(data.get("version", 0)) > VERSION:
        raise ProblemError("version", data["version"], f"at most {VERSION}; this file needs a newer Carom")
    for key in _NEEDED:
        if key not in data:
            raise ProblemError(key, "nothing", f"an entry {key!r} in {source}")
    return _from_arrays(data)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ProblemError("file", f"{path}: {error}", "valid JSON") from None
    if not isinstance(data, dict):
        raise ProblemError("file", f"{path}: a JSON {type(data).__name__}", "a JSON object")
    return data


def _read_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as data:
            return {key: (value if value.ndim else value.item()) for key, value in data.items()}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ProblemError("file", f"{path}: {error}", "a readable npz file") from None


def _to_arrays(p: ImpactProblem) -> dict[str, Any]:
    data = {
        "velocity": p.velocity,
        "block": np.array(p.block),
        "row_ptr": p.rows.ptr,
        "row_body": p.rows.body,
        "row_value": p.rows.val,
        "boundary_speed": p.boundary_speed,
        "restitution": p.restitution,
        "friction": p.friction,
        **p.mass.arrays(),
    }
    if p.tangents is not None and p.tangent_speed is not None:
        data["tangent_ptr"] = p.tangents.ptr
        data["tangent_body"] = p.tangents.body
        data["tangent_value"] = p.tangents.val
        data["tangent_speed"] = p.tangent_speed
    if p.positions is not None:
        data["positions"] = p.positions
    for k, symmetry in enumerate(p.symmetries):
        data[f"symmetry{k}_bodies"] = symmetry.bodies
        data[f"symmetry{k}_matrix"] = symmetry.matrix
    return data


def _from_arrays(data: dict[str, Any]) -> ImpactProblem:
    n, d = (int(k) for k in checks.shaped("block", checks.finite("block", data["block"]), (2,)))
    velocity = checks.finite("velocity", data["velocity"])
    if velocity.size != n * d:
        raise ProblemError("velocity", f"{velocity.size} numbers", f"{n * d} numbers")
    rows = _rows(data, "row", n, d)
    tangents = _rows(data, "tangent", n, d) if "tangent_ptr" in data else None
    symmetries = []
    while f"symmetry{len(symmetries)}_bodies" in data:
        k = len(symmetries)
        bodies = np.asarray(data[f"symmetry{k}_bodies"], dtype=np.int64)
        symmetries.append(Symmetry(bodies, checks.finite("symmetry", data[f"symmetry{k}_matrix"])))
    return ImpactProblem._build(
        mass=_mass(data, n, d),
        rows=rows,
        velocity=velocity,
        block=(n, d),
        boundary_speed=data.get("boundary_speed"),
        restitution=data.get("restitution", 1.0),
        friction=data.get("friction"),
        tangents=tangents,
        tangent_speed=data.get("tangent_speed"),
        positions=None if "positions" not in data else checks.finite("positions", data["positions"]),
        symmetries=tuple(symmetries),
        name=str(data.get("name", "impact problem")),
    )


def _rows(data: dict[str, Any], kind: str, n: int, d: int) -> PhysicalRows:
    ptr = checks.finite(f"{kind}_ptr", data[f"{kind}_ptr"]).astype(np.int64)
    body = checks.finite(f"{kind}_body", data[f"{kind}_body"]).astype(np.int64)
    value = checks.finite(f"{kind}_value", data[f"{kind}_value"])
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or (np.diff(ptr) < 0).any() or ptr[-1] != len(body):
        raise ProblemError(f"{kind}_ptr", ptr, f"rising offsets from 0 to {len(body)}")
    if ((body < 0) | (body >= n)).any():
        raise ProblemError(f"{kind}_body", int(body[(body < 0) | (body >= n)][0]), f"numbers from 0 to {n - 1}")
    value = checks.shaped(f"{kind}_value", value, (len(body), d))
    return PhysicalRows(checks.frozen(ptr), checks.frozen(body), checks.frozen(value))


def _mass(data: dict[str, Any], n: int, d: int) -> DiagonalMass | BlockMass | GeneralMass:
    if "mass" in data:
        values = checks.finite("mass", data["mass"])
        if values.shape == (n, d):
            return DiagonalMass(checks.positive("mass", values))
        return BlockMass(checks.shaped("mass", values, (n, d, d)))
    for key in ("mass_row", "mass_column", "mass_value"):
        if key not in data:
            raise ProblemError("mass", "nothing", "an entry 'mass', or mass_row, mass_column and mass_value")
    place = (np.asarray(data["mass_row"], np.int64), np.asarray(data["mass_column"], np.int64))
    matrix = sp.csr_matrix((checks.finite("mass_value", data["mass_value"]), place), shape=(n, n))
    return GeneralMass(checks.symmetric(matrix, n))
