"""Random pairs of every two shapes of space are thrown at each other: what must hold whatever they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from carom import stepping
from carom.build import build
from carom.contact.detector import find_contacts
from carom.contact.parts import rims
from carom.geometry.rotations import matrices
from carom.geometry.shapes import CONE, ELLIPSOID
from carom.resolve.response import Response
from carom.scene import FIXED, Bodies, Material, Scene
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Mesh, Part, Solid, Sphere
from carom.stepping.integrator import free_motion
from carom.stepping.report import StepReport, totals
from carom.stepping.stepper import Stepper
from carom.world import State, World

KINDS = ("sphere", "box", "capsule", "cylinder", "hull", "mesh", "compound", "cone", "ellipsoid")
CONVEX = (*KINDS[:5], "cone", "ellipsoid")
PAIRS = list(combinations_with_replacement(KINDS, 2))
STEPPERS = ("synchronous", "drift_safe")
GRAVITY, STEP = 10.0, 0.01
MESH_SPACING = 0.04  # of the surface points of a mesh of size 1
SEEDS = [(0,), pytest.param((1, 2, 3), marks=pytest.mark.long)]


def l_prism(size: float) -> Mesh:
    """An L of three cubes."""
    outline = 0.5 * size * np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
    vertices = np.array([(x, y, z) for z in (0.0, 0.5 * size) for x, y in outline])
    faces = [(a, c, b) for a, b, c in ((0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5))]
    faces += [(c + 6, b + 6, a + 6) for a, b, c in faces]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    return Mesh(vertices=vertices, faces=np.array(faces), spacing=MESH_SPACING * size)


FIXED_SHAPES = {
    "mesh": l_prism(1.0),
    "compound": Compound(
        [
            Part(Box((0.9, 0.25, 0.25))),
            Part(Sphere(0.25), (0.5, 0.0, 0.1)),
            Part(Capsule(0.15, 0.5), (-0.4, 0.1, 0.0), (0.9, 0.3, 0.1, 0.2)),
        ]
    ),
}


def drawn(kind: str, rng: np.random.Generator) -> Solid:
    if kind == "sphere":
        return Sphere(rng.uniform(0.25, 0.6))
    if kind == "box":
        return Box(tuple(rng.uniform(0.3, 1.0, 3)))
    if kind == "capsule":
        return Capsule(rng.uniform(0.15, 0.35), rng.uniform(0.2, 0.8))
    if kind == "cylinder":
        return Cylinder(rng.uniform(0.2, 0.5), rng.uniform(0.2, 0.9))
    if kind == "cone":
        return Cone(rng.uniform(0.2, 0.6), rng.uniform(0.3, 1.0))
    if kind == "ellipsoid":
        return Ellipsoid(tuple(rng.uniform(0.2, 0.6, 3)))
    if kind == "hull":
        points = rng.normal(size=(10, 3))
        return Hull(rng.uniform(0.3, 0.5, 3) * points / np.linalg.norm(points, axis=1)[:, None])
    return FIXED_SHAPES[kind]


@dataclass
class Throw:
    """A second body thrown at a first one, which is free, or fixed with gravity."""

    pair: tuple[str, str]
    seed: int
    free: bool

    def scene(self) -> Scene:
        rng = np.random.default_rng([self.seed, *(KINDS.index(k) for k in self.pair), self.free])
        first, second = (drawn(kind, rng) for kind in self.pair)
        at = rng.normal(size=3) if self.free else np.array([0.0, 0.0, 1.0]) + 0.3 * rng.normal(size=3)
        at /= np.linalg.norm(at)
        turn, spin, speed = rng.normal(size=(2, 4)), 2.0 * rng.normal(size=(2, 3)), rng.uniform(2.0, 4.0)
        alone = Scene("alone", [Bodies(first, np.zeros((1, 3))), Bodies(second, np.full((1, 3), 9.0))])
        reach = float(build(alone)[0].shapes_3d.radius.sum()) + 0.01
        drift = 0.5 * rng.normal(size=3) if self.free else np.zeros(3)
        still = {"velocity": drift, "spin": spin[0]} if self.free else {"motion": FIXED}
        bodies = [
            Bodies(first, np.zeros((1, 3)), orientation=turn[0], **still),
            Bodies(second, (reach * at)[None], velocity=drift - speed * at, spin=spin[1], orientation=turn[1]),
        ]
        material = Material(float(rng.choice([0.0, 0.5, 1.0])), float(rng.choice([0.0, 0.4])))
        return Scene(
            f"{self.pair[1]} at {self.pair[0]}",
            bodies,
            gravity=(0.0, 0.0, 0.0 if self.free else -GRAVITY),
            materials={"default": material},
            law=str(rng.choice(["gr", "qce"])),
            step=STEP,
        )

    def engine(self, stepper: str) -> tuple[Stepper, State]:
        scene = self.scene()
        world, state = build(scene)
        return stepping.make(stepper, world, Response.for_run(scene.law), STEP), state


def stepped(engine: Stepper, state: State) -> tuple[State, StepReport]:
    after, report = engine.step(state)
    assert all(np.isfinite(x).all() for x in (after.position, after.orientation, after.velocity))
    return after, report


def sizes(world: World, state: State) -> tuple[float, float]:
    """Sums of the sizes of momenta and of angular momenta: what their changes are measured by."""
    speed = np.linalg.norm(state.velocity[:, :3], axis=1)
    spin = (world.inertia * np.abs(state.velocity[:, 3:])).sum() if world.turns else 0.0
    return float(world.mass @ speed), float(world.mass @ (np.linalg.norm(state.position, axis=1) * speed) + spin)


def check_throw(throw: Throw, stepper: str, steps: int) -> int:
    """Momenta of two free bodies to 1e-12, energy never rises. Returns the contacts that the law saw."""
    engine, state = throw.engine(stepper)
    world, contacts = engine.world, 0
    start = totals(world, state)
    # Rounding of the places where contacts are: resting solves work to 1e-11 of the speeds.
    scale = start[0] if throw.free else start[0] + world.mass[1] * GRAVITY * world.shapes_3d.radius[1]
    most = start[0] + start[1]
    elastic = bool((world.restitution == 1.0).all() and world.frictionless and stepper == "synchronous")
    for _ in range(steps):
        state, report = stepped(engine, state)
        contacts += report.contacts
        now = totals(world, state)
        if throw.free:
            linear, angular = sizes(world, state)
            np.testing.assert_allclose(now[2:5], start[2:5], rtol=0.0, atol=1e-12 * linear)
            np.testing.assert_allclose(now[5:8], start[5:8], rtol=0.0, atol=1e-12 * angular)
        energy = now[0] + now[1]
        assert energy <= most + (1e-12 if throw.free or stepper == "synchronous" else 1e-8) * scale
        if elastic:
            assert energy == pytest.approx(most, abs=1e-10 * scale)
        most = min(most, energy)
    return contacts


@pytest.mark.covering
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("free", [True, False], ids=["free", "dropped"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_momentum_and_energy(pair, free, stepper):
    assert sum(check_throw(Throw(pair, seed, free), stepper, 45) for seed in range(3)) > 0


def test_an_impact_at_the_end_of_a_step_that_needs_no_impulse():
    """The law found nothing to do, but the rows of the contact stayed at the end of the step, and resting contact used
    them at its start: the angular momentum changed by 2e-5."""
    assert check_throw(Throw(("sphere", "cone"), 20, True), "drift_safe", 50) > 0


@pytest.mark.long
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("free", [True, False], ids=["free", "dropped"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_momentum_and_energy_of_many(pair, free, stepper):
    assert sum(check_throw(Throw(pair, seed, free), stepper, 80) > 0 for seed in range(2, 22)) > 15


# ---- contacts


def touching(throw: Throw) -> tuple[World, State, State]:
    """The world, and two states a step apart of which the second has a contact that was not there before."""
    engine, state = throw.engine("synchronous")
    world = engine.world
    for _ in range(200):
        after = free_motion(world, state, STEP)
        if find_contacts(world, state, after, 0.0).count:
            return world, state, after
        state = replace(after, step=state.step + 1)
    pytest.skip("they miss each other")


def swapped(throw: Throw, *states: State) -> tuple[World, State, State]:
    """World and states with the two bodies in the other order."""
    scene = throw.scene()
    world, _ = build(replace(scene, bodies=scene.bodies[::-1]))
    names = ("position", "orientation", "velocity")
    before, after = (replace(s, **{n: getattr(s, n)[::-1].copy() for n in names}) for s in states)
    return world, before, after


def in_order(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(np.round(rows, 7).T)]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_swapped_bodies_have_the_same_contacts_mirrored(pair, seeds):
    for seed in seeds:
        throw = Throw(pair, seed, True)
        world, before, after = touching(throw)
        other = swapped(throw, before, after)
        for margin in (0.0, 0.02, 0.2):
            one, two = find_contacts(world, before, after, margin), find_contacts(*other, margin)
            assert one.count == two.count
            assert (one.first == 0).all() and (one.second == 1).all()
            columns = [
                np.column_stack([c.point, sign * c.normal, c.gap, c.predicted]) for c, sign in ((one, 1.0), (two, -1.0))
            ]
            # Fast bodies with a curved side are advanced to their touch, and the direction found there depends on the
            # order by up to 2e-6 in a few of 60 throws of cones, and by up to 6e-7 in as many of cylinders.
            tolerance = 5e-6 if "cone" in pair else 1e-9
            np.testing.assert_allclose(
                in_order(columns[0]), in_order(columns[1]), rtol=max(tolerance, 1e-7), atol=tolerance
            )


def support(world: World, state: State, body: int, direction: np.ndarray) -> float:
    """Largest n . x over a body of one convex part."""
    solids, turn = world.shapes_3d, matrices(state.orientation)[body]
    part = solids.part_ptr[body]
    form, n = solids.shape[part], solids.turn[part].T @ turn.T @ direction
    size = solids.size[form]
    kind = int(solids.kind[form])
    middle = float(direction @ (state.position[body] + turn @ solids.place[part]))
    across, along = float(np.hypot(n[0], n[1])), abs(float(n[2]))
    if kind == KINDS.index("sphere"):
        return middle + float(size[0])
    if kind == KINDS.index("capsule"):
        return middle + float(size[0] + size[1] * along)
    if kind == KINDS.index("cylinder"):
        return middle + float(size[0] * across + size[1] * along)
    if kind == CONE:
        top, high, bottom, low = rims(kind, size)
        return middle + float(max(top * across + high * n[2], bottom * across + low * n[2]))
    if kind == ELLIPSOID:
        return middle + float(np.linalg.norm(size * n))
    return middle + float((solids.vertex[solids.vertex_ptr[form] : solids.vertex_ptr[form + 1]] @ n).max())


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_normals_are_unit_vectors_from_first_to_second(pair, seeds):
    """Along its normal the second body moves away; and of convex bodies no point is nearer than the gap says.

    Where a sharp edge of a mesh crosses a sharp rim, overlap beyond the middle of the rim is missed: the surface
    nearest to such a point is the far side of the rim, and the point counts as one that faces away. The edge was
    0.0095 deep in a cone whose rim has 29 degrees, its deepest sample point 0.0030, and the gap was 0.0048. So the
    way of cones from meshes is the spacing of their points, beyond which contacts are found again. It was one of 108
    throws of meshes with all shapes; the eight other pairs with a mesh keep the short way.
    """
    for seed in seeds:
        world, _, after = touching(Throw(pair, seed, True))
        found = find_contacts(world, after, after, 0.2 * world.length_scale)
        assert found.count
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, rtol=0.0, atol=1e-12)
        k = int(np.argmin(found.gap))
        n, shift = found.normal[k], 0.05 * world.length_scale
        if pair == ("mesh", "cone"):
            shift = max(shift, MESH_SPACING)
        moved = replace(after, position=after.position + np.array([[0.0, 0.0, 0.0], shift * n]))
        again = find_contacts(world, moved, moved, world.length_scale)
        assert again.gap.min() > found.gap[k]
        if set(pair) <= set(CONVEX):
            assert again.gap.min() == pytest.approx(found.gap[k] + shift, abs=0.2 * shift)
            apart = -support(world, after, 1, -n) - support(world, after, 0, n)
            assert found.gap[k] == pytest.approx(apart, abs=1e-6 * world.length_scale)
