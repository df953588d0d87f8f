"""The same bits for one thread and for two, on problems large enough that threads are used."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.piles import cluster_field, random_pile
from tests.solvers import packings

from carom import solve_impact
from carom.resolve.impulses import resolve
from carom.resolve.response import Response
from carom.solvers import threads
from carom.solvers.qp.cone import solve_cone
from carom.solvers.threads import limited, most_threads, on_threads, thread_count
from carom.solvers.thresholds import THREADED_QP_CONTACTS


def with_threads(count, work):
    if count > most_threads():
        pytest.skip(f"numba was started with {most_threads()} threads")
    with limited(count):
        assert thread_count() == count
        return work()


@pytest.fixture(scope="module")
def problems():
    """One pile that is a single island, and many islands of every size: both above the threshold."""
    built = {"pile": random_pile(4000, seed=3), "clusters": cluster_field(500, 30, seed=4)}
    assert all(p.contact_count >= THREADED_QP_CONTACTS for p in built.values())
    return built


@pytest.mark.parametrize("law", ["gr", "qce"])
@pytest.mark.parametrize("name", ["pile", "clusters"])
def test_laws_to_a_tolerance(problems, name, law):
    """The elastic and the inelastic answer at the same time, large islands by relaxation."""
    contacts = problems[name].with_(restitution=0.5).contacts
    tolerance = 1e-3 * contacts.approach()
    one, two = (with_threads(k, lambda: resolve(contacts, Response.of(law), tolerance)) for k in (1, 2))
    np.testing.assert_array_equal(one.normal, two.normal)
    assert one.residual == two.residual


@pytest.mark.covering
@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
@pytest.mark.parametrize("restitution", [1.0, 0.5])
@pytest.mark.parametrize("name", ["pile", "clusters"])
def test_laws(problems, name, law, restitution):
    problem = problems[name].with_(restitution=restitution)
    one = with_threads(1, lambda: solve_impact(problem, law))
    two = with_threads(2, lambda: solve_impact(problem, law))
    assert one.velocity.tobytes() == two.velocity.tobytes()
    assert one.impulse.tobytes() == two.impulse.tobytes()
    assert one.residual == two.residual
    assert one.iterations == two.iterations
    assert one.residual <= 1e-10


@pytest.mark.parametrize("name", ["pile", "clusters"])
def test_friction(problems, name):
    """With friction, threads again."""
    problem = problems[name].with_(friction=0.3, restitution=0.5)
    one = with_threads(1, lambda: solve_impact(problem, "gr"))
    two = with_threads(2, lambda: solve_impact(problem, "gr"))
    assert one.velocity.tobytes() == two.velocity.tobytes()
    assert one.friction_impulse.tobytes() == two.friction_impulse.tobytes()


def test_warm(problems):
    contacts = problems["clusters"].contacts
    u = contacts.speeds()
    start = np.random.default_rng(0).normal(size=len(u))
    one = with_threads(1, lambda: packings.solve(contacts.rows, u, start))
    two = with_threads(2, lambda: packings.solve(contacts.rows, u, start))
    assert one[0].tobytes() == two[0].tobytes()
    assert one[1] == two[1]


def test_threads_are_used(problems, monkeypatch):
    """Otherwise the comparisons above compare nothing: with two threads the work comes in several pieces."""
    pieces_seen = []
    plain = threads.on_threads

    def watched(work, pieces):
        pieces_seen.append(len(pieces))
        return plain(work, pieces)

    monkeypatch.setattr("carom.solvers.qp.cone.on_threads", watched)
    contacts = problems["clusters"].contacts
    with_threads(1, lambda: solve_cone(contacts.rows, contacts.speeds()))
    assert max(pieces_seen) == 1
    with_threads(2, lambda: solve_cone(contacts.rows, contacts.speeds()))
    assert max(pieces_seen) > 1


LAYER = """
import hashlib
from benchmarks.layer import layer
from carom import Simulation
from carom.solvers.threads import limited
for count in (1, 2, 3):
    with limited(count):
        sim = Simulation(layer(45), law="gr")
        for _ in range(25):
            sim.step()
        data = b"".join(a.tobytes() for a in (sim.state.position, sim.state.velocity, sim.state.orientation))
        print(sim.report["contacts"], hashlib.sha256(data).hexdigest())
"""


@pytest.mark.long
def test_the_same_bits_of_a_layer_on_one_two_and_three_threads():
    """12,150 spheres that hit a vibrating plate: list of pairs, contacts, law and friction on threads, more than there
    may be processors."""
    run = subprocess.run(
        [sys.executable, "-c", LAYER],
        env={**os.environ, "NUMBA_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    one, two, three = run.stdout.splitlines()
    assert int(one.split()[0]) > THREADED_QP_CONTACTS, "too few contacts for threads"
    assert one == two == three


def test_the_largest_piece_counts():
    for count in (1, 2):
        assert with_threads(count, lambda: on_threads(lambda x: 2.0 * x, [(1.0,), (3.0,), (2.0,)])) == 6.0
