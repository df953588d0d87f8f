"""The library of scenes: functions with keyword parameters that return a Scene."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ProblemError
from ..scene.model import Scene
from .balls import (
    bernoulli,
    cradle_3d,
    newtons_cradle,
    newtons_cradle_disturbed,
    pool_break,
    pool_break_3d,
    three_ball_chain,
)
from .bricks import from_tower
from .drum import butterfly, drop, energy_drum, gas, splash
from .flows import gun, hopper
from .granular import granular_wave, granular_wave_2d, maxwells_demon, vibrated_layer
from .mechanisms import (
    arm_strikes_balls,
    compass_walker,
    cradle_on_rods,
    cradle_on_strings,
    cradle_on_strings_3d,
    double_pendulum,
    falling_chain,
    four_bar,
    ragdoll,
    rimless_wheel,
    rocking_block,
)
from .packings import cross_packing, cube_packing, pebbles, repose, sphere_packing
from .rabbits import dolls, rabbit_pile, rabbits_and_pawns, rabbits_in_pot, two_rabbits_box
from .rube_goldberg import rube_goldberg
from .sliding import rolling_disc, rolling_sphere, sliding_block, sliding_box, spinning_box, spinning_top_free
from .solids import box_2x2x1, box_on_edge, eight_cubes, flat_box, matryoshka, trefoil_drop, two_tetrahedra
from .stacks import box_stack, box_tower_3d, card_house


@dataclass(frozen=True)
class Entry:
    """A scene of the library.

    `bodies` computes their number from the parameters; `small` are parameters for a quick run.
    """

    make: Callable[..., Scene]
    line: str
    bodies: Callable[[Mapping[str, Any]], int]
    small: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Any]:
        """Names and default values."""
        return {name: p.default for name, p in inspect.signature(self.make).parameters.items()}

    @property
    def size(self) -> int:
        """Number of bodies with the default parameters."""
        return self.bodies(self.parameters)

    def __call__(self, **parameters: Any) -> Scene:
        known = self.parameters
        for name in parameters:
            if name not in known:
                raise ProblemError.unknown(f"parameter of scene {self.make.__name__!r}", name, known)
        return self.make(**parameters)


def _cards(p: Mapping[str, Any]) -> int:
    pairs = range(p["width"], p["width"] - p["stories"], -1)
    return sum(3 * k - 1 for k in pairs) + 2 * bool(p["balls"])


SCENES_2D: dict[str, Entry] = {
    "newtons_cradle": Entry(newtons_cradle, "balls in a row: as many leave as came in", lambda p: p["balls"]),
    "newtons_cradle_disturbed": Entry(
        newtons_cradle_disturbed, "Newton's cradle with gaps and balls off the line", lambda p: p["balls"]
    ),
    "three_ball_chain": Entry(three_ball_chain, "three touching balls, the outer two approach", lambda p: 3),
    "bernoulli": Entry(bernoulli, "one ball strikes two touching balls at the same time", lambda p: 3),
    "pool_break": Entry(
        pool_break, "a cue ball breaks a rack", lambda p: p["rows"] * (p["rows"] + 1) // 2 + 1, {"rows": 4}
    ),
    "splash": Entry(splash, "a touching grid falls into a drum", lambda p: p["side"] ** 2, {"side": 5}),
    "energy_drum": Entry(energy_drum, "a gas in a drum, for a long time", lambda p: p["side"] ** 2, {"side": 4}),
    "butterfly": Entry(butterfly, "four balls in a drum, symmetric for all times", lambda p: 4),
    "drop": Entry(drop, "a large touching grid falls in a drum (Table 2)", lambda p: p["side"] ** 2, {"side": 9}),
    "gas": Entry(gas, "a large gas of unit speeds in a drum (Table 2)", lambda p: p["side"] ** 2, {"side": 9}),
    "box_stack": Entry(box_stack, "a tower of boxes that must stand", lambda p: p["boxes"], {"boxes": 4}),
    "maxwells_demon": Entry(
        maxwells_demon,
        "shaken balls gather on one side of a partition",
        lambda p: 2 * p["side"] ** 2,
        {"side": 6, "width": 15.0},
    ),
    "granular_wave_2d": Entry(
        granular_wave_2d,
        "a front runs up through layers of grains",
        lambda p: p["columns"] * p["rows"],
        {"columns": 8, "rows": 5},
    ),
    "sliding_block": Entry(sliding_block, "a block slides on a plane until friction stops it", lambda p: 1),
    "rolling_disc": Entry(rolling_disc, "a disc slides on a plane until it rolls", lambda p: 1),
    "hopper": Entry(
        hopper,
        "a source fills a hopper, which then drains",
        lambda p: p["grains"],
        {"grains": 40, "fill": 0.8, "drain": 1.2},
    ),
    "gun": Entry(
        gun, "a gun fires at a wall of bricks", lambda p: 2 + p["rows"] * p["columns"], {"rows": 3, "shots": 3}
    ),
    "cradle_on_rods": Entry(cradle_on_rods, "Newton's cradle of balls that swing on rods", lambda p: p["balls"]),
    "cradle_on_strings": Entry(cradle_on_strings, "Newton's cradle of balls on strings", lambda p: p["balls"]),
    "double_pendulum": Entry(double_pendulum, "a double pendulum swings against a wall", lambda p: 2),
    "falling_chain": Entry(falling_chain, "a necklace falls on a table", lambda p: p["links"], {"links": 6}),
    "compass_walker": Entry(
        compass_walker, "a passive walker goes down a slope", lambda p: 5 + p["strides"], {"strides": 2}
    ),
    "rimless_wheel": Entry(rimless_wheel, "a wheel of spokes walks down a slope", lambda p: 1),
    "rocking_block": Entry(rocking_block, "a block rocks from corner to corner", lambda p: 1),
    "four_bar": Entry(four_bar, "a ball strikes a four-bar linkage", lambda p: 4),
    "arm_strikes_balls": Entry(arm_strikes_balls, "an arm with motors strikes balls", lambda p: 3 + p["balls"]),
}
SCENES_3D: dict[str, Entry] = {
    "flat_box": Entry(flat_box, "a box falls flat on its four corners", lambda p: 1),
    "box_on_edge": Entry(box_on_edge, "a cube lands with half of its face on a block", lambda p: 2),
    "box_2x2x1": Entry(box_2x2x1, "a box lands flat while it moves sideways", lambda p: 1),
    "two_tetrahedra": Entry(two_tetrahedra, "a spinning tetrahedron strikes another one", lambda p: 2),
    "matryoshka": Entry(matryoshka, "nested shells fall on a plane", lambda p: p["shells"]),
    "eight_cubes": Entry(eight_cubes, "eight cubes in a container, symmetric in all directions", lambda p: 8),
    "trefoil_drop": Entry(trefoil_drop, "a trefoil knot bounces on a plane", lambda p: 1, {"detail": 16}),
    "cradle_3d": Entry(cradle_3d, "Newton's cradle of spheres", lambda p: p["balls"]),
    "pool_break_3d": Entry(
        pool_break_3d, "a cue ball breaks a rack on a plane, in 3D", lambda p: p["rows"] * (p["rows"] + 1) // 2 + 1
    ),
    "sphere_packing": Entry(
        sphere_packing,
        "spheres fall into a container and come to rest",
        lambda p: p["count"],
        {"count": 60, "side": 5.0},
    ),
    "cube_packing": Entry(
        cube_packing, "cubes fall into a container and come to rest", lambda p: p["count"], {"count": 20, "side": 5.0}
    ),
    "cross_packing": Entry(
        cross_packing, "crosses of three bars fall into a container", lambda p: p["count"], {"count": 12, "side": 4.0}
    ),
    "pebbles": Entry(pebbles, "ellipsoids fall on uneven ground, a height field", lambda p: p["count"], {"count": 6}),
    "repose": Entry(
        repose,
        "a pile flows out when a gate is lifted",
        lambda p: p["count"] + 1,
        {"count": 20, "settle": 1.0, "flow": 1.0},
    ),
    "granular_wave": Entry(
        granular_wave,
        "a shock runs up through grains at rest",
        lambda p: p["count"],
        {"count": 60, "side": 4.0, "settle": 1.0},
    ),
    "vibrated_layer": Entry(
        vibrated_layer,
        "spheres on a vibrating plate form patterns",
        lambda p: round(p["width"] ** 2 * p["depth"] * 0.58 * 6.0 / 3.141592653589793),
        {"width": 6, "periods": 2.0},
    ),
    "two_rabbits_box": Entry(
        two_rabbits_box, "two rabbits in a box, symmetric under half a turn", lambda p: 2, {"detail": 16}
    ),
    "rabbits_in_pot": Entry(
        rabbits_in_pot, "two rabbits tumble in a floating pot", lambda p: 3, {"duration": 10.0, "detail": 16}
    ),
    "rabbit_pile": Entry(rabbit_pile, "rabbits fall into a container", lambda p: p["count"], {"count": 8}),
    "rabbits_and_pawns": Entry(
        rabbits_and_pawns,
        "rabbits on the ground are hit by pawns",
        lambda p: p["rabbits"] + p["pawns"],
        {"rabbits": 4, "pawns": 2},
    ),
    "dolls": Entry(dolls, "nested dolls fall on a table and open", lambda p: 2 * p["count"], {"count": 2}),
    "rube_goldberg": Entry(
        rube_goldberg,
        "eight devices, each triggered by the one before it",
        lambda p: 50 + p["pillars"],
        {"pillars": 2},
    ),
    "box_tower_3d": Entry(box_tower_3d, "a tower of cubes that must stand", lambda p: p["boxes"], {"boxes": 4}),
    "card_house": Entry(card_house, "a house of 24 cards, hit by two balls", _cards, {"stories": 2, "width": 2}),
    "rolling_sphere": Entry(rolling_sphere, "a sphere slides on a plane until it rolls", lambda p: 1),
    "sliding_box": Entry(sliding_box, "a box slides on a plane until friction stops it", lambda p: 1),
    "spinning_box": Entry(spinning_box, "a box rotates on a plane until friction stops it", lambda p: 1),
    "cradle_on_strings_3d": Entry(
        cradle_on_strings_3d, "Newton's cradle of spheres, each on two strings", lambda p: p["balls"]
    ),
    "ragdoll": Entry(ragdoll, "a ragdoll falls down stairs", lambda p: 11 + p["steps"], {"steps": 2}),
    "spinning_top_free": Entry(spinning_top_free, "a flat box rotates freely and flips over periodically", lambda p: 1),
}
SCENES: dict[str, Entry] = SCENES_2D | SCENES_3D


def make_scene(name: str, **parameters: Any) -> Scene:
    """A scene of the library by its name."""
    if name not in SCENES:
        raise ProblemError.unknown("scene", name, SCENES)
    return SCENES[name](**parameters)


__all__ = [
    "SCENES",
    "Entry",
    "arm_strikes_balls",
    "bernoulli",
    "box_2x2x1",
    "box_on_edge",
    "box_stack",
    "box_tower_3d",
    "butterfly",
    "card_house",
    "compass_walker",
    "cradle_3d",
    "cradle_on_rods",
    "cradle_on_strings",
    "cradle_on_strings_3d",
    "cross_packing",
    "cube_packing",
    "dolls",
    "double_pendulum",
    "drop",
    "eight_cubes",
    "energy_drum",
    "falling_chain",
    "flat_box",
    "four_bar",
    "from_tower",
    "gas",
    "granular_wave",
    "granular_wave_2d",
    "make_scene",
    "matryoshka",
    "maxwells_demon",
    "newtons_cradle",
    "newtons_cradle_disturbed",
    "pebbles",
    "pool_break",
    "pool_break_3d",
    "rabbit_pile",
    "rabbits_and_pawns",
    "rabbits_in_pot",
    "ragdoll",
    "repose",
    "rimless_wheel",
    "rocking_block",
    "rolling_disc",
    "rolling_sphere",
    "rube_goldberg",
    "sliding_block",
    "sliding_box",
    "sphere_packing",
    "spinning_box",
    "spinning_top_free",
    "splash",
    "three_ball_chain",
    "trefoil_drop",
    "two_rabbits_box",
    "two_tetrahedra",
    "vibrated_layer",
]
