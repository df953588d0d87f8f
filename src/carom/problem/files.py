"""Impact problems as JSON and npz files."""

from __future__ import annotations

import inspect
import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError, check_texts
from ..files import FACTOR, atomic_path, limit, read_file, write_text
from ..late import sparse as sp
from ..solvers.rows import Floats
from . import checks
from .joints import Joints
from .mass import BlockMass, DiagonalMass, GeneralMass, PhysicalRows
from .problem import Given, ImpactProblem, Symmetry

FORMAT = "carom impact problem"
FORMAT_VERSION = 1
LARGEST_ARRAYS = 512 << 20  # bytes of the arrays of a file
_NEEDED = ("velocity", "block", "row_ptr", "row_body", "row_value")


def save(problem: ImpactProblem, path: Path) -> Path:
    """Writes the problem atomically, as .json or .npz by the suffix of the path."""
    data = _to_arrays(problem)
    if path.suffix == ".json":
        head = {"format": FORMAT, "version": FORMAT_VERSION, "name": problem.name}
        text = json.dumps({**head, **{key: value.tolist() for key, value in data.items()}}, indent=1)
        write_text(path, text + "\n")
    elif path.suffix == ".npz":
        with atomic_path(path) as part, part.open("wb") as handle:
            np.savez_compressed(handle, format=FORMAT, version=FORMAT_VERSION, name=problem.name, **data)
    else:
        raise ProblemError("file", str(path), "a name that ends in .json or .npz")
    return path


def load(path: Path) -> ImpactProblem:
    """Reads a problem; raises ProblemError with the reason if the file does not hold one."""
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

    Short forms: `{"chain": {"masses": ..., "velocities": ...}}`, likewise "discs", "spheres", "blocks",
    "contacts" and "matrices" with the arguments of the constructor of that name.
    """
    makers: dict[str, Callable[..., ImpactProblem]] = {
        "chain": ImpactProblem.chain,
        "discs": ImpactProblem.from_discs,
        "spheres": ImpactProblem.from_spheres,
        "blocks": ImpactProblem.from_blocks,
        "contacts": ImpactProblem.from_contacts,
        "matrices": ImpactProblem.from_matrices,
    }
    check_texts("problem", data)
    short = [key for key in makers if key in data]
    if len(short) == 1 and isinstance(data[short[0]], dict):
        return _call(short[0], makers[short[0]], data[short[0]])
    if str(data.get("format", "")) != FORMAT:
        raise ProblemError(
            source, f"keys {sorted(map(str, data))[:6]}", f'"format": "{FORMAT}", or one of {", ".join(makers)}'
        )
    version = data.get("version", FORMAT_VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise ProblemError(
            "version", version, f"a whole number from 1 to {FORMAT_VERSION} (newer files need a newer Carom)"
        )
    for key in _NEEDED:
        if key not in data:
            raise ProblemError(key, "nothing", f"an entry {key!r} in {source}")
    return _from_arrays(data)


def _call(kind: str, maker: Callable[..., ImpactProblem], arguments: dict[str, Any]) -> ImpactProblem:
    """Calls a constructor with arguments from a file, after checking their names against its signature."""
    from . import geometry

    dimension = {"discs": 2, "spheres": 3}.get(kind)
    known = inspect.signature(maker if dimension is None else partial(geometry.balls, dimension)).parameters
    for key in arguments:
        if key not in known:
            raise ProblemError.unknown(f"argument of {kind!r}", key, known)
    for key, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and key not in arguments:
            raise ProblemError(f"{kind}.{key}", "nothing", "a value")
    return maker(**arguments)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_file(path, "problem"))
    except (ValueError, RecursionError) as error:  # also integers of more than 4,300 digits, and nested lists
        if isinstance(error, ProblemError):
            raise
        raise ProblemError("file", f"{path}: {error}", "valid JSON") from None
    if not isinstance(data, dict):
        raise ProblemError("file", f"{path}: a JSON {type(data).__name__}", "a JSON object")
    return data


def _read_npz(path: Path) -> dict[str, Any]:
    """The arrays of an npz file, after a check of the sizes that it declares."""
    content = io.BytesIO(read_file(path, "problem", LARGEST_ARRAYS))
    try:
        with zipfile.ZipFile(content) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > limit(LARGEST_ARRAYS):
            most = f"at most {limit(LARGEST_ARRAYS):,} bytes, or {FACTOR}=10 in the environment"
            raise ProblemError("file", f"{path}: {size:,} bytes of arrays", most)
        with np.load(content, allow_pickle=False) as data:
            return {key: (value if value.ndim else value.item()) for key, value in data.items()}
    except ProblemError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise errors of many kinds on damaged bytes
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
    if p.weights is not None:
        data["weights"] = p.weights
    if p.positions is not None:
        data["positions"] = p.positions
    if p.joints is not None:
        data |= p.joints.arrays()
    for k, symmetry in enumerate(p.symmetries):
        data[f"symmetry{k}_bodies"] = symmetry.bodies
        data[f"symmetry{k}_matrix"] = symmetry.matrix
        data[f"symmetry{k}_name"] = np.array(symmetry.name)
    return data


def _from_arrays(data: dict[str, Any]) -> ImpactProblem:
    n, d = (int(k) for k in checks.shaped("block", checks.finite("block", data["block"]), (2,)))
    velocity = checks.finite("velocity", data["velocity"])
    if velocity.size != n * d:
        raise ProblemError("velocity", f"{velocity.size} numbers", f"{n * d} numbers")
    rows = _rows(data, "row", n, d)
    tangents = _rows(data, "tangent", n, d) if "tangent_ptr" in data else None
    symmetries: list[Symmetry] = []
    while f"symmetry{len(symmetries)}_bodies" in data:
        symmetries.append(_symmetry(data, len(symmetries), n, d))
    numbers = (
        data.get("boundary_speed"),
        data.get("restitution", 1.0),
        data.get("friction"),
        data.get("tangent_speed"),
    )
    name, weights = str(data.get("name", "impact problem")), data.get("weights", 1.0)
    given = Given(*numbers, name, _positions(data, n), tuple(symmetries), weights, _joints(data, n, d))
    return ImpactProblem._build(_mass(data, n, d), rows, tangents, velocity, (n, d), given)


def _joints(data: dict[str, Any], n: int, d: int) -> Joints | None:
    if "joint_ptr" not in data:
        return None
    rows = _rows(data, "joint", n, d)
    count = len(rows.ptr) - 1
    speed = checks.per_contact("joint_speed", data.get("joint_speed", 0.0), count, None, None)
    labels = np.asarray(data.get("joint_label", [f"joints[{k}]" for k in range(count)]))
    if labels.shape != (count,):
        raise ProblemError("joint_label", f"shape {labels.shape}", f"shape ({count},)")
    return Joints(rows, checks.frozen(speed), tuple(str(label) for label in labels))


def _symmetry(data: dict[str, Any], k: int, n: int, d: int) -> Symmetry:
    bodies = checks.permutation(f"symmetry{k}_bodies", data[f"symmetry{k}_bodies"], n)
    if f"symmetry{k}_matrix" not in data:
        raise ProblemError(f"symmetry{k}_matrix", "nothing", f"shape ({d}, {d}) or ({n}, {d}, {d})")
    matrix = checks.finite(f"symmetry{k}_matrix", data[f"symmetry{k}_matrix"])
    if matrix.shape not in ((d, d), (n, d, d)):
        raise ProblemError(f"symmetry{k}_matrix", f"shape {matrix.shape}", f"shape ({d}, {d}) or ({n}, {d}, {d})")
    return Symmetry(bodies, matrix, str(data.get(f"symmetry{k}_name", "symmetry")))


def _positions(data: dict[str, Any], n: int) -> Floats | None:
    if "positions" not in data:
        return None
    place = checks.finite("positions", data["positions"])
    if place.ndim != 2 or len(place) != n or not 1 <= place.shape[1] <= 3:
        raise ProblemError("positions", f"shape {place.shape}", f"shape ({n}, 1, 2 or 3)")
    return place


def _rows(data: dict[str, Any], kind: str, n: int, d: int) -> PhysicalRows:
    for key in (f"{kind}_ptr", f"{kind}_body", f"{kind}_value"):
        if key not in data:
            raise ProblemError(key, "nothing", f"an entry {key!r}")
    body = checks.whole(f"{kind}_body", data[f"{kind}_body"], 0, n - 1)
    ptr = checks.whole(f"{kind}_ptr", data[f"{kind}_ptr"], 0, len(body))
    value = checks.finite(f"{kind}_value", data[f"{kind}_value"])
    if len(ptr) == 0 or ptr[0] != 0 or (np.diff(ptr) < 0).any() or ptr[-1] != len(body):
        raise ProblemError(f"{kind}_ptr", ptr, f"rising offsets from 0 to {len(body)}")
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
    row = checks.whole("mass_row", data["mass_row"], 0, n - 1)
    column = checks.whole("mass_column", data["mass_column"], 0, n - 1)
    value = checks.shaped("mass_value", checks.finite("mass_value", data["mass_value"]), row.shape)
    if column.shape != row.shape:
        raise ProblemError("mass_column", f"{len(column)} numbers", f"{len(row)}, as many as mass_row")
    matrix = sp.csr_matrix((value, (row, column)), shape=(n, n))
    return GeneralMass(checks.symmetric(matrix, n))
