"""Imports go one way: solvers <- geometry <- scene <- world <- contact <- problem <- laws <- resolve <- ... <- cli."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import covering

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "carom"

# What each part may import besides itself, written out so that a new arrow is a decision and not an accident.
_GEOMETRY = {"errors", "geometry", "solvers", "scene", "mechanism", "world", "contact"}
_CORE = _GEOMETRY | {"problem"}
_LAWS = _CORE | {"laws"}
_RESOLVE = _LAWS | {"friction", "resolve"}
_RUN = _RESOLVE | {"build", "changing", "settings", "stepping", "trajectory", "scenes", "stepwise", "simulation"}
_STUDY = _RUN | {"catalogue", "analysis", "draw.style"}
_EVERYWHERE = {"checks", "errors", "files", "hdf5", "kernels", "late", "shown"}
_COMMANDS = {"draw", "engines", "exporting", "play", "reproduce", "resuming", "sweeps", "testing", "towers"}
ALLOWED = {
    "errors": set(),
    "checks": {"errors"},  # of arguments
    "files": {"errors"},  # atomic writing
    "hdf5": {"files"},  # HDF5 files that survive kills and forgeries
    "kernels": {"errors", "files"},  # compilation and its cache
    "late": set(),  # stands for a module that is slow to import
    "shown": set(),  # names the module below, which it imports when a notebook asks
    "notebook": _STUDY | {"draw", "towers"},
    "draw.style": set(),  # the style of all figures: a leaf, although the rest of draw reads runs
    "ports": {"errors"},
    "solvers": set(),
    "geometry": {"solvers"},
    "scene": {"errors", "geometry", "settings", "solvers"},
    "mechanism": {"geometry", "solvers"},  # joint rows of a world
    "world": {"errors", "geometry", "solvers", "scene", "mechanism"},
    "contact": {"errors", "geometry", "solvers", "scene", "mechanism", "world"},
    "build": _GEOMETRY | {"settings", "build_joints"},
    "build_joints": _GEOMETRY,
    "settings": set(),
    # assemble.py is the bridge; a test below keeps the rest clear of worlds. A solution asks for its derivatives.
    "problem": _GEOMETRY | {"derivatives"},
    "scenes": {"errors", "geometry", "solvers", "scene"},
    "stepping": _RESOLVE | {"settings"},
    # The version, for the record. A trajectory asks for its derivatives.
    "trajectory": _GEOMETRY | {"build", "settings", "stepping", "sensitivities", ""},
    "changing": _RESOLVE | {"stepping"},  # which bodies are present: around a stepper, below the loops
    "stepwise": _RESOLVE | {"build", "changing", "settings", "stepping", "trajectory"},
    "simulation": _RESOLVE | {"build", "changing", "settings", "stepping", "trajectory", "stepwise"},
    "resuming": _RUN,
    "laws": _CORE,
    "catalogue": _CORE,
    "friction": _LAWS,
    "resolve": _LAWS | {"friction", "settings"},
    "derivatives": _RESOLVE | {"settings"},
    "autodiff": _RESOLVE | {"derivatives"},
    "sensitivities": _RUN | {"derivatives", "draw.style"},  # runs, their derivatives, and fits of them to data
    "analysis": _STUDY,
    "testing": _STUDY,
    "reproduce": _STUDY | {"resuming", "draw", "towers", "testing", ""},
    "sweeps": _STUDY | {""},  # the version, for the record
    "towers": _RUN | {"draw.style"},
    "draw": _STUDY | {"ports"},
    "exporting": _STUDY | {"draw"},
    "play": _STUDY | {"draw", "testing", "ports", ""},  # the version
    "bridges": _RESOLVE,
    "engines": _RUN | {"catalogue", "analysis", "bridges", ""},  # conformance of engines, Carom among them
    "cli": _STUDY
    | {
        "engines",
        "resuming",
        "reproduce",
        "sensitivities",
        "testing",
        "draw",
        "towers",
        "play",
        "",
        "sweeps",
        "exporting",
    },
    "__main__": {"cli"},
    # The package itself: it names the public objects, never the command line.
    "": _STUDY | {"draw", "resuming", "sensitivities", "sweeps", "testing", "exporting"},
}


def part_of(module: str) -> str:
    """`carom.solvers.rows` -> `solvers`; the package itself -> the empty string."""
    pieces = module.split(".")
    if ".".join(pieces[1:3]) in ALLOWED:
        return ".".join(pieces[1:3])
    return pieces[1] if len(pieces) > 1 else ""


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in a part of a program: expressions, which are most of it, contain none."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)


def imported(source: str, module: str, is_package: bool, known: set[str]) -> set[str]:
    """The parts of carom that `source` imports, at whatever depth and in whatever form."""
    here = module.split(".") if is_package else module.split(".")[:-1]
    found = set()
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.split(".")[0] == "carom"}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) - node.level + 1]) if node.level else ""
            full = ".".join(piece for piece in (base, node.module) if piece)
            if full == "carom":  # `from .. import laws` means that part; `from .. import __version__` does not
                found |= {f"carom.{a.name}" if a.name in known else "carom" for a in node.names}
            elif full.startswith("carom."):
                found.add(full)
    return {part_of(name) for name in found}


def modules() -> list[tuple[str, Path]]:
    out = []
    for path in sorted(PACKAGE.rglob("*.py")):
        pieces = list(path.relative_to(PACKAGE).with_suffix("").parts)
        if pieces[-1] == "__init__":
            pieces.pop()
        out.append((".".join(["carom", *pieces]), path))
    return out


PARTS = {part_of(name) for name, _ in modules()} - {""}


def test_every_part_has_its_place():
    missing = PARTS - set(ALLOWED)
    assert not missing, f"give {sorted(missing)} a place in ALLOWED"


def test_imports_go_one_way():
    wrong = []
    for module, path in modules():
        part = part_of(module)
        used = imported(path.read_text(encoding="utf-8"), module, path.name == "__init__.py", PARTS)
        above = used - ALLOWED[part] - _EVERYWHERE - {part}
        wrong += [f"{module} imports {sorted(above)}, which lie above {part!r}"] if above else []
    assert not wrong, "\n".join(wrong)


BESIDE = {"towers", "reproduce", "engines", "play"}  # stand beside the engine
ABOVE = {"cli", "notebook", "__main__"}  # call everything


def test_nothing_in_the_engine_imports_what_stands_beside_it():
    for module, path in modules():
        if part_of(module) not in BESIDE | ABOVE:
            found = imported(path.read_text(encoding="utf-8"), module, path.name == "__init__.py", PARTS)
            assert not found & BESIDE, f"{module} imports {sorted(found & BESIDE)}"
    assert BESIDE <= PARTS
    allowed = {part for part in set(ALLOWED) - BESIDE - ABOVE if ALLOWED[part] & BESIDE}
    assert not allowed, f"the table allows {sorted(allowed)} to import what stands beside the engine"


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("from ..laws import make", "laws"),
        ("from .. import laws", "laws"),
        ("from ..problem.contacts import Contacts", "problem"),
        ("from ..resolve.impulses import resolve", "resolve"),
        ("from carom.laws.gr import GR", "laws"),
        ("import carom.laws", "laws"),
        ("def f():\n    from ..laws.law import Law", "laws"),
        ("from .. import __version__", ""),
        ("import carom", ""),
    ],
)
def test_the_reader_of_imports_sees_every_form(line, part):
    assert imported(line, "carom.solvers.rows", False, {"laws", "solvers"}) == {part}


def test_own_part_and_other_packages_do_not_count():
    source = "import numpy\nfrom numba import njit\nfrom .rows import speed"
    assert imported(source, "carom.solvers.islands", False, {"solvers"}) == {"solvers"}


def test_the_rows_of_contacts_are_the_bridge_between_worlds_and_problems():
    worlds = {"scene", "world", "contact", "shapes"}
    bridges = {
        name
        for name, path in modules()
        if part_of(name) == "problem" and imported(path.read_text(encoding="utf-8"), name, False, PARTS) & worlds
    }
    assert bridges == {"carom.problem.assemble"}


# ---- which cases the fast suite runs


def test_the_cases_of_a_grid_that_are_run_cover_every_value():
    grid = [{"law": law, "model": model} for law in "abc" for model in "pq"]
    assert [grid[k] for k in covering(grid)] == [
        {"law": "a", "model": "p"},
        {"law": "b", "model": "q"},
        {"law": "c", "model": "p"},
    ]
    assert covering([{"path": path, "status": 404} for path in "xyz"]) == [0, 1, 2]  # a list of cases, not a grid


MIDDLE = ("contact", "problem", "resolve", "solvers", "friction", "stepping")  # from bodies to velocities


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is made of numbers alone, as `2.0**-53` and `np.float32(0.0)` are."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr.startswith("float")
    parts = [x for x in ast.walk(value) if isinstance(x, (ast.Constant, ast.Call, ast.Tuple, ast.Dict, ast.Set))]
    return bool(parts) and all(isinstance(x, ast.Constant) and isinstance(x.value, (int, float)) for x in parts)


def unnamed_subjects(source: str) -> list[str]:
    """Numbers of a module whose names have one word. Columns and kinds, tuples of whole numbers, are enumerations."""
    found = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        (target,), value = node.targets, node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else []
            if not any(
                isinstance(x, ast.Call) or isinstance(getattr(x, "value", None), float) for x in ast.walk(value)
            ):
                continue
            pairs = list(zip(target.elts, values))
        for name, number in pairs:
            if (
                isinstance(name, ast.Name)
                and name.id.isupper()
                and "_" not in name.id.strip("_")
                and _is_number(number)
            ):
                found.append(name.id)
    return found


def test_constants_of_the_pipeline_name_their_subject():
    """`MOST_SWEEPS` and not `SWEEPS`: a word alone stood for four numbers in four modules."""
    bare = "NEAR = 2.0\nTINY, ONE = np.float32(1e-30), np.float32(1.0)\nGAP, POINT = 3, GAP + 5\nNEAR_GAP = 2.0\n"
    assert unnamed_subjects(bare) == ["NEAR", "TINY", "ONE"]
    wrong = {}
    for part in MIDDLE:
        for path in sorted((PACKAGE / part).rglob("*.py")):
            names = unnamed_subjects(path.read_text(encoding="utf-8"))
            if names:
                wrong[str(path.relative_to(PACKAGE))] = names
    assert not wrong, f"numbers whose names do not say what they are of: {wrong}"


# ---- parameters of functions

MOST_PARAMETERS = 10
DECLARED_BY = {  # functions that take keywords of a settings class by name, and that class
    "problem.geometry.balls": ("problem.problem", "Given"),
    "problem.problem.from_blocks": ("problem.problem", "Given"),
    "problem.problem.from_matrices": ("problem.problem", "Given"),
    "sweeps.run.sweep": ("sweeps.plan", "Plan"),
}


def parameters(source: str) -> dict[str, list[str]]:
    """Parameters of public functions and methods but kernels, whose decorators are not those of Python, by name."""
    found = {}
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in [*tree.body, *(inner for owner in classes for inner in owner.body)]:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if not any("kernel" in ast.unparse(d) or "overload" in ast.unparse(d) for d in node.decorator_list):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            found[node.name] = [a.arg for a in every if a.arg not in ("self", "cls")]
    return found


def test_functions_have_ten_parameters_at_most_besides_those_that_a_settings_class_declares():
    assert parameters("def f(a, b, *, c): 0\n@kernel\ndef g(x): 0\nclass A:\n def h(self, d): 0") == {
        "f": ["a", "b", "c"],
        "h": ["d"],
    }
    wide = {}
    for module, path in modules():
        for function, names in parameters(path.read_text(encoding="utf-8")).items():
            name = f"{module.removeprefix('carom.')}.{function}"
            if len(names) > MOST_PARAMETERS and part_of(module) != "cli":
                wide[name] = names
    assert set(wide) == set(DECLARED_BY), "declare their keywords in one settings class, or shorten this table"
    for name, (module, owner) in DECLARED_BY.items():
        declared = set(getattr(importlib.import_module(f"carom.{module}"), owner).__annotations__)
        own = [parameter for parameter in wide[name] if parameter not in declared]
        assert len(own) <= MOST_PARAMETERS, f"{name} has {len(own)} parameters that {owner} does not declare: {own}"


# ---- where the tests of a module are

TESTS = Path(__file__).resolve().parent
BESIDE_THE_PACKAGE = {"benchmarks", "determinism", "docs", "examples", "fuzz", "layout", "processes"}  # what they test
IN_A_BROWSER = Path("draw/browser")  # pages of several packages in one browser


def has_its_module(file: Path) -> bool:
    """Whether a file is `test_MODULE.py` or `test_MODULE_SUBJECT.py`, in the folder of the module's package.

    Tests of several modules of a package have its name in place of that of a module.
    """
    name, package = file.stem.removeprefix("test_"), PACKAGE / file.parent
    modules = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    known = modules | ({file.parent.name} if file.parent.name else BESIDE_THE_PACKAGE)
    return any(name == module or name.startswith(f"{module}_") for module in known)


def test_the_tests_of_a_module_are_found_by_its_name():
    assert has_its_module(Path("laws/test_gr.py")) and has_its_module(Path("laws/test_laws_claims.py"))
    assert not has_its_module(Path("laws/test_claims.py")) and not has_its_module(Path("law/test_gr.py"))
    files = [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")]
    lost = [str(file) for file in files if file.parent != IN_A_BROWSER and not has_its_module(file)]
    assert not lost, f"name them after a module of src/carom, or its package: {sorted(lost)}"
