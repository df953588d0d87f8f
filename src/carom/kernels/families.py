"""The families of kernels that a run or a single impact needs, by name."""

from __future__ import annotations

from typing import Any

DEFAULT_FRICTION = "cone"
LIBRARY = "scenes"  # families of single scenes of the library: what no other family of their run has
MANY_BODIES = {2: 500, 3: 30}  # with more, some islands are likely to be too large for dense matrices


def families_of_run(scene: Any, law: Any, stepper: str, friction_model: str | None) -> list[str]:
    """The families of a run of `scene` under a law (a `Law`), with a stepper and a friction model, by name or None."""
    shapes = {getattr(getattr(group, "shape", None), "kind", "") for group in scene.groups}
    name = f"{scene.dimension}d"
    found = [*families_of_law(law, has_friction(scene), friction_model, scene.dimension)]
    if scene.dimension == 2:
        found += [f"{name}/discs"] + ([f"{name}/polygons"] if shapes - {"disc"} else [])
    else:
        found += [f"{name}/spheres"] + ([f"{name}/solids"] if shapes - {"sphere"} else [])
        found += [f"{name}/{stepper}-pairs"] if shapes - {"sphere"} and scene.count > 1 else []
        found += [f"{name}/meshes"] if shapes & {"mesh", "compound"} else []
    found += [f"{name}/{stepper}", f"{LIBRARY}/{scene.name}"]
    return found + (["large"] if scene.count > MANY_BODIES[scene.dimension] else [])


def families_of_law(law: Any, friction: bool, friction_model: Any, dimension: int | None = None) -> list[str]:
    """The families of impacts under a law; a friction model is a name, an object or None, no dimension both."""
    found = [f"laws/{law.name}"]
    if friction and (friction_model or not law.own_friction):
        model = friction_model if isinstance(friction_model, str) else getattr(friction_model, "name", "")
        found.append(f"friction/{model or DEFAULT_FRICTION}" + (f"/{dimension}d" if dimension else ""))
    return found


def has_friction(scene: Any) -> bool:
    """Does any material, or any pair of materials, have friction?"""
    pairs = [pair.get("friction", 0.0) for pair in scene.pairs.values()]
    return any(value > 0.0 for value in [*pairs, *(material.friction for material in scene.materials.values())])
