"""Kernels are compiled for a baseline: the same instructions and the same bits on every machine that has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import carom
from carom.kernels import files, kernel, processor
from carom.scenes import make_scene
from carom.trajectory import state_hash

ROOT = Path(__file__).resolve().parents[2]

# A sum in any order and a loop of Numba itself inside of it, on a machine that the environment describes.
PROCESS = r"""
import json, re, sys
import numpy as np
from carom.kernels import kernel, processor

@kernel(fastmath={"reassoc", "contract"})
def product(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total + np.sqrt(x).sum()

x, y = np.random.default_rng(7).random((2, 1001))
values = [product(x[k:], y[k:]) for k in range(10)]
(code,) = product.inspect_asm().values()
code = code.partition("\nNRT_")[0]  # Numba's reference counts, without arithmetic, are those of the host
instructions = [re.sub(r"[$]?_Z\w+|[^\s]*const[^,]*", "", line) for line in code.splitlines() if line.startswith("\t")]
instructions = [line for line in instructions if not line.startswith("\t.")]
print(json.dumps([processor.baseline(), values, instructions]))
"""
V3 = ",".join(f"+{name}" for name in processor.BASELINES["x86-64-v3"])
ROUNDING = 1001 * 2.3e-16  # of the 1001 positive terms of a sum, in the worst order
WIDE = f"{V3},+avx512f,+avx512vl,+avx512dq"

pytestmark = pytest.mark.skipif(
    processor.target()[0].partition("-")[0] != "x86_64" or bool(processor.missing_features("x86-64-v3")),
    reason="only x86-64-v3 runs the kernels of these tests",
)


def on(tmp_path, **variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "CAROM_"))}
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**inherited, "PYTHONPATH": paths, "CAROM_CACHE_DIR": str(tmp_path), "CAROM_QUIET": "1", **variables}
    done = subprocess.run([sys.executable, "-c", PROCESS], env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """What this machine computes, and with which instructions."""
    return on(tmp_path_factory.mktemp("host"))


OTHERS = [
    ("skylake-avx512", WIDE),
    *(pytest.param(*other, marks=pytest.mark.long) for other in [("haswell", V3), ("x86-64-v3", "")]),
]


@pytest.mark.parametrize(("name", "features"), OTHERS)
def test_every_machine_with_the_baseline_runs_the_same_instructions(host, tmp_path, name, features):
    assert host[0] == "x86-64-v3"
    assert on(tmp_path, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features) == host


@pytest.mark.long
def test_a_machine_without_the_baseline_rounds_otherwise(host, tmp_path):
    """It has narrower vectors and rounds each product: its sum has other bits."""
    baseline, values, instructions = on(tmp_path, NUMBA_CPU_NAME="nehalem", NUMBA_CPU_FEATURES="+sse4.2")
    assert baseline == "x86-64" and values != host[1] and instructions != host[2]
    assert values == pytest.approx(host[1], rel=ROUNDING)


@pytest.mark.long
def test_the_code_of_the_host_is_an_option(host, tmp_path):
    baseline, values, _ = on(tmp_path, CAROM_NATIVE="1")
    assert baseline == ""
    assert values == pytest.approx(host[1], rel=ROUNDING)


def test_functions_outside_of_kernels_are_compiled_for_the_host(tmp_path, monkeypatch):
    monkeypatch.setattr("carom.kernels.cache_folder", lambda: tmp_path)

    def doubled(x):
        return 2.0 * x

    plain, own = numba.njit(doubled), kernel(doubled)
    assert plain(2.0) == own(2.0) == 4.0
    libraries = [next(iter(function.overloads.values())).library for function in (plain, own)]
    assert [processor.is_for_host(library) for library in libraries] == [True, False]


def test_a_kernel_that_contains_code_of_the_host_serves_this_host_alone(tmp_path, monkeypatch):
    """Numba compiles functions that it replaces (overloads) once per process, here for the host, before the kernel
    needs one. It is a new one, so that no kernel of another test has compiled it."""

    def middle(x):
        raise NotImplementedError

    @numba.extending.overload(middle)
    def _middle(x):
        return lambda x: np.sort(x)[len(x) // 2]

    monkeypatch.setattr("carom.kernels.cache_folder", lambda: tmp_path)
    source = "def median(x):\n    return middle(x)\n"
    module = {"middle": middle, "__name__": __name__}
    exec(source, module)
    assert numba.njit(module["median"])(np.arange(5.0)) == 2.0
    assert kernel(module["median"])(np.arange(5.0)) == 2.0
    facts = [files.read(path)[0] for path in tmp_path.glob("*.kernel")]
    assert [tuple(fact["host"]) for fact in facts] == [processor.target()]
    again = kernel(module["median"])
    assert again(np.arange(5.0)) == 2.0 and not again.stats.cache_misses
    monkeypatch.setattr(processor, "target", lambda: ("x86_64", "another", ""))
    monkeypatch.setattr("carom.kernels._loaded", {})
    other = kernel(module["median"])
    assert other(np.arange(5.0)) == 2.0 and other.stats.cache_misses


RUNS = [
    *[("pool_break", {"rows": 4}, 60), ("box_stack", {"boxes": 3}, 60), ("sliding_box", {}, 60)],
    *[("two_tetrahedra", {}, 60), ("box_tower_3d", {"boxes": 3}, 30), ("cradle_3d", {}, 60)],
]


def hashes():
    """Hashes of the last states of small runs, in this process."""
    made = [(make_scene(name, **parameters), steps) for name, parameters, steps in RUNS]
    return [state_hash(carom.simulate(scene, duration=steps * scene.step).last) for scene, steps in made]


def test_runs_end_in_the_same_bits_on_a_lesser_processor():
    """NumPy, its BLAS and the C library choose code by the processor as well; runs must not depend on their sums."""
    lesser = {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": V3,
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW",
    }
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **lesser}
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        "from tests.kernels.test_processor import hashes; print(*hashes())",
    ]
    done = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    here = hashes()
    assert len(set(here)) == len(here) and done.stdout.split() == here
