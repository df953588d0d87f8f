"""A detector that has seen other steps finds what a new one finds, bit for bit, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from carom.build import build
from carom.contact import detector as module
from carom.contact.detector import Detector
from carom.scene import Bodies, Container, Material, Periodic, Plane, Scene
from carom.scene.shapes import Box, Capsule, Disc, Rectangle, Sphere
from carom.solvers.threads import limited, most_threads
from carom.world import State

STEP = 0.01


def lattice(dim, side, spacing):
    return spacing * (0.5 + np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim))


def scene(name):
    """Bodies closely packed, some of which are across periodic sides."""
    dim = 2 if name in ("discs", "polygons", "sheared") else 3
    side = 8 if dim == 2 else 5
    place, width = lattice(dim, side, 1.0), float(side)
    half = len(place) // 2
    shapes = {
        "discs": [(Disc(0.5), place)],
        "polygons": [(Rectangle(0.9, 0.8), place[:half]), (Disc(0.45), place[half:])],
        "sheared": [(Disc(0.49), place)],
        "spheres": [(Sphere(0.5), place)],
        "boxes": [(Box((0.9, 0.8, 0.85)), place)],
        "solids": [
            (Box((0.9, 0.8, 0.85)), place[:half]),
            (Capsule(0.3, 0.4), place[half:-20]),
            (Sphere(0.5), place[-20:]),
        ],
    }[name]
    sides = dict.fromkeys("xyz"[:dim], (0.0, width))
    if name == "sheared":
        periodic = Periodic(**sides, shear_rate=40.0)
    else:
        periodic = None if name == "boxes" else Periodic(x=(0.0, width))
    walls = [Container((0.0,) * dim, (width,) * dim)] if periodic is None else ([] if name == "sheared" else [Plane()])
    return Scene(
        name=name,
        bodies=[Bodies(shape, at) for shape, at in shapes],
        boundaries=walls,
        periodic=periodic,
        materials={"default": Material(0.0, 0.5)},
        step=STEP,
    )


def steps(world, start, count, seed=0):
    """States of bodies that wander about and rotate: pairs (before, after). Some are faster than others."""
    rng = np.random.default_rng(seed)
    n, dim = start.position.shape
    pace = np.where(rng.random(n) < 0.1, 0.02, 0.004)[:, None]
    drift = np.array([0.07, *(0.0,) * (dim - 1)])  # all of them, so that many cross the periodic side
    position, orientation = start.position.copy(), start.orientation.copy()
    out = []
    for k in range(count):
        before = State(k * STEP, k, position, orientation, start.velocity)
        moved = position + pace * rng.normal(size=(n, dim)) + drift
        if dim == 2:
            turned = orientation + 0.05 * rng.normal(size=n)
        else:
            turned = orientation + 0.03 * rng.normal(size=(n, 4))
            turned /= np.linalg.norm(turned, axis=1)[:, None]
        out.append((before, State((k + 1) * STEP, k, moved, turned, start.velocity)))
        position, orientation = moved.copy(), turned
        if world.periodic is not None:
            for axis in range(dim):
                ends = world.periodic.sides[axis]
                if ends is not None:
                    position[:, axis] = ends[0] + np.mod(position[:, axis] - ends[0], ends[1] - ends[0])
    return out


def same_bits(one, two):
    assert one.dimension == two.dimension and one.table.shape == two.table.shape
    assert one.table.tobytes() == two.table.tobytes()


NAMES = ("discs", "polygons", "sheared", "spheres", "boxes", "solids")


@pytest.mark.parametrize("name", NAMES)
def test_contacts_do_not_depend_on_the_steps_before(name):
    world, start = build(scene(name), check_overlap=False)
    kept = Detector(world)
    found = made = 0
    for k, (before, after) in enumerate(steps(world, start, 12)):
        margin = 0.02 + 0.01 * (k % 3)
        known = kept.pairs.list
        one = kept.find(before, after, margin)
        made += kept.pairs.list is not known
        same_bits(one, Detector(world).find(before, after, margin))
        found += one.count
    assert found > 0
    # The list of candidates was used in some step at least, except where images slide, or sweeps need larger lists.
    assert made < 12 or name in ("sheared", "solids")


@pytest.mark.parametrize("name", ["discs", "spheres", "boxes", "solids"])
def test_contacts_do_not_depend_on_the_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(module, "BALL_PIECE", 50)
    monkeypatch.setattr(module, "SOLID_PIECE", 50)
    world, start = build(scene(name), check_overlap=False)
    for before, after in steps(world, start, 3):
        answers = []
        for count in (1, min(2, most_threads())):
            with limited(count):
                answers.append(Detector(world).find(before, after, 0.03))
        same_bits(*answers)


@pytest.mark.parametrize("name", ["discs", "spheres", "polygons", "boxes"])
def test_of_the_margins_of_two_bodies_the_larger_one_counts(name):
    """Contacts with a margin for each body are those of the widest margin that are within the larger one of both."""
    world, start = build(scene(name), check_overlap=False)
    rng = np.random.default_rng(1)
    for before, after in steps(world, start, 3):
        margins = rng.choice([0.001, 0.02, 0.06], world.count)
        some = Detector(world).at_ends(before, after, margins)
        all_of_them = Detector(world).at_ends(before, after, 0.06)
        allowed = all_of_them.larger(margins)
        if name in ("discs", "spheres"):
            same_bits(some, all_of_them.take(all_of_them.predicted <= allowed))
        else:  # the features that count as faces depend on the margin, the pairs do not
            wanted = all_of_them.predicted <= allowed
            pairs = set(zip(all_of_them.first[wanted], all_of_them.second[wanted]))
            assert pairs <= set(zip(some.first, some.second))
            if name == "polygons":  # of two boxes within the margin one contact counts in any case
                assert (some.predicted <= some.larger(margins)).all()
