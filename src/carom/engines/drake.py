"""Drake (Python package drake) as an engine of the conformance suite."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder


class Drake:
    """Drake has no coefficient of restitution: contacts are springs, integrated in continuous time.

    The rebound from a spring with Hunt and Crossley's dissipation depends on the speed: only restitution 1 is run.
    """

    title = f"Drake {version('drake')}"
    dimension = 3
    step_size, stiffness, accuracy = 1e-4, 1e8, 1e-8

    def __init__(self) -> None:
        self.settings = (
            f"continuous time, RK3 with accuracy {self.accuracy:g}, steps of {self.step_size:g}, point contact, "
            f"stiffness {self.stiffness:g}, dissipation 0, friction 0"
        )

    def start(self, restitution: float) -> None:
        if restitution != 1.0:
            raise NotImplementedError("restitution below 1: the rebound would depend on the speed")
        self.builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(self.builder, time_step=0.0)
        self.plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])
        self.properties = ProximityProperties()
        AddContactMaterial(0.0, self.stiffness, CoulombFriction(0.0, 0.0), self.properties)
        self.placed: list[tuple[Any, list[float], list[float]]] = []
        self.simulator: Any = None

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        if len(size) != 1:
            raise NotImplementedError("a box: Drake's point contact gives two flat faces one point")
        inertia = SpatialInertia(mass, np.zeros(3), UnitInertia.SolidSphere(size[0]))
        body = self.plant.AddRigidBody(f"body {len(self.placed)}", inertia)
        self.plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(size[0]), "ball", self.properties)
        self.placed.append((body, position, velocity))

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        if speed:
            raise NotImplementedError("a plane that moves: Drake's are part of the world")
        place = HalfSpace.MakePose(np.array(normal), np.array(point))
        name = f"plane {self.plant.num_collision_geometries()}"
        self.plant.RegisterCollisionGeometry(self.plant.world_body(), place, HalfSpace(), name, self.properties)

    def step(self) -> None:
        if self.simulator is None:
            self._build()
        self.simulator.AdvanceTo(self.simulator.get_context().get_time() + self.step_size)

    def _build(self) -> None:
        self.plant.Finalize()
        self.simulator = Simulator(self.builder.Build())
        ResetIntegratorFromFlags(self.simulator, "runge_kutta3", self.step_size)
        self.simulator.get_mutable_integrator().set_target_accuracy(self.accuracy)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        for body, position, velocity in self.placed:
            self.plant.SetFreeBodyPose(self.context, body, RigidTransform(position))
            self.plant.SetFreeBodySpatialVelocity(self.context, body, SpatialVelocity(velocity[3:], velocity[:3]))

    def velocities(self) -> Any:
        found = [body.EvalSpatialVelocityInWorld(self.context) for body, _, _ in self.placed]
        return [(*speed.translational(), *speed.rotational()) for speed in found]
