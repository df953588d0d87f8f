"""DART (Python package dartpy) as an engine of the conformance suite."""

from __future__ import annotations

from typing import Any

import dartpy
import numpy as np

START_OVERLAP = 1e-9  # of touching bodies, so that the detector reports them
WALL = 10.0  # half size of the box that stands for a plane: DART's own detector has no planes
SPEED_UP = 20.0  # factor on all speeds: approaches slower than 0.1 are inelastic in DART, rebounds above 100 are cut


class Dart:
    """Coefficients of two shapes are multiplied, so each has the square root."""

    title = f"DART {dartpy.__version__}"
    dimension = 3
    step_size = 1e-5

    def __init__(self) -> None:
        self.settings = (
            f"step {self.step_size:g}, DART's collision detector, Dantzig's LCP solver, restitution sqrt(c) per shape, "
            f"overlap {START_OVERLAP:g}, speeds times {SPEED_UP:g}, boxes for planes"
        )

    def start(self, restitution: float) -> None:
        self.world = dartpy.simulation.World()
        self.world.setGravity([0.0, 0.0, 0.0])
        self.world.setTimeStep(self.step_size)
        self.world.getConstraintSolver().setCollisionDetector(dartpy.collision.DARTCollisionDetector())
        self.restitution = restitution**0.5
        self.nodes: list[Any] = []

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        if len(size) == 1:
            shape: Any = dartpy.dynamics.SphereShape(size[0] + START_OVERLAP)
            squares = [0.2 * size[0] ** 2] * 3
        else:
            shape = dartpy.dynamics.BoxShape([2.0 * (half + START_OVERLAP) for half in size])
            squares = [half**2 / 3.0 for half in size]
        self._add(mass, squares, [(None, shape)], position, velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        boxes = [(at, dartpy.dynamics.BoxShape([2.0 * (h + START_OVERLAP) for h in half])) for at, half in parts]
        squares = [sum(half[k] ** 2 / 3.0 + at[k] ** 2 for at, half in parts) / len(parts) for k in range(3)]
        self._add(mass, squares, boxes, position, velocity)

    def _add(self, mass: float, squares: list[float], shapes: list[Any], position: Any, velocity: Any) -> None:
        """`squares` are the mean squares of the coordinates in the body, `shapes` (center or None, shape)."""
        moments = [mass * (sum(squares) - square) for square in squares]
        skeleton, joint, node = self._body(shapes)
        node.setMass(mass)
        node.setMomentOfInertia(*moments)
        joint.setTransform(dartpy.math.Isometry3(np.eye(3), position))
        joint.setLinearVelocity([SPEED_UP * v for v in velocity[:3]])
        joint.setAngularVelocity([SPEED_UP * v for v in velocity[3:]])
        self.world.addSkeleton(skeleton)
        self.nodes.append(node)

    def _body(self, shapes: list[Any]) -> tuple[Any, Any, Any]:
        skeleton = dartpy.dynamics.Skeleton(f"body {self.world.getNumSkeletons()}")
        joint, node = skeleton.createFreeJointAndBodyNodePair()
        for center, shape in shapes:
            placed = node.createShapeNode(shape)
            if center is not None:
                placed.setRelativeTransform(dartpy.math.Isometry3(np.eye(3), center))
            placed.createCollisionAspect()
            placed.createDynamicsAspect()
            placed.getDynamicsAspect().setRestitutionCoeff(self.restitution)
            placed.getDynamicsAspect().setFrictionCoeff(0.0)
        return skeleton, joint, node

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        if speed:
            raise NotImplementedError("a plane that moves: DART's immobile bodies have no velocity")
        skeleton, joint, _ = self._body([(None, dartpy.dynamics.BoxShape([2.0 * WALL] * 3))])
        upright = np.linalg.svd(np.array([normal]))[2].T  # its first column is the normal, up to a sign
        upright[:, 2] *= np.linalg.det(upright)
        joint.setTransform(dartpy.math.Isometry3(upright, [p - WALL * n for p, n in zip(point, normal, strict=True)]))
        skeleton.setMobile(False)
        self.world.addSkeleton(skeleton)

    def step(self) -> None:
        self.world.step()

    def velocities(self) -> Any:
        found = [(*node.getLinearVelocity(), *node.getAngularVelocity()) for node in self.nodes]
        return np.array(found) / SPEED_UP
