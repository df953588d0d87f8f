"""The scene files that `carom new` writes. They run as they are, and show other options in comments."""

from __future__ import annotations

STARTER = """\
# A scene for Carom.   carom validate {file}   checks it,   carom run {file}   runs it.
# Use any consistent units of length, time and mass. Angles are in radians, counterclockwise.
# Lines that start with # are comments; remove the # to use what they show. Carom's docs/scenes.md lists every key.

[scene]
name = "{name}"
description = "A cue ball breaks a rack of fifteen on a table without pockets."
gravity = [0.0, 0.0]          # [0.0, -9.81] if y points upwards
step = 0.01                   # time step
duration = 10.0
frame_rate = 50.0             # recorded frames per unit of time
law = "gr"                    # impact law; `carom laws` lists them
stepper = "drift_safe"        # or "synchronous", "time_of_impact"
# restitution_model = "energetic"
# friction_model = "cone"
# mixed_restitution = "blend"   # for laws that need one coefficient where the materials have several

# -- Materials. `density` (mass / area) applies to bodies without a mass of their own.

[materials.ball]
restitution = 1.0             # 0 to 1
friction = 0.0
density = 1.0

[materials.cushion]
restitution = 1.0
friction = 0.0

# Two different materials meet with the smaller restitution and the geometric mean of their frictions, unless:
# [[pairs]]
# between = ["ball", "cushion"]
# restitution = 0.8

# -- Bodies, one by one. shape = "disc" with radius, "rectangle" with size = [w, h], or "polygon" with
#    vertices.

[[bodies]]
name = "cue ball"
shape = "disc"
radius = 1.0
position = [-20.0, 0.0]       # or a list of places: [[-20.0, 0.0], [-20.0, 3.0]]
velocity = [40.0, 0.0]
material = "ball"
# angle = 0.0
# spin = 0.0
# mass = 3.0
# rotates = true
# motion = "fixed"            # or {{ kind = "vibrating", amplitude = 0.5, frequency = 2.0, direction = [0.0, 1.0] }}

# -- Many bodies.

[[generators]]
kind = "rack"                 # or grid, hex_grid, random_pour, chain, ring, copies
name = "rack"
rows = 5
apex = [0.0, 0.0]             # place of the first ball; the triangle opens along `direction`
direction = [1.0, 0.0]
radius = 1.0
material = "ball"
# spacing = 2.1               # the balls touch by default
# jitter = 0.01               # moves each body by up to this far
# seed = 1

# [[generators]]
# kind = "random_pour"
# count = 200
# lower = [-28.0, 4.0]
# upper = [-6.0, 14.0]
# radius = {{ kind = "uniform", low = 0.2, high = 0.4 }}
# random_velocity = {{ kind = "normal", speed = 1.0 }}
# material = "ball"

# -- Boundaries: plane, container, drum, segment. They push and are not pushed; they may move.

[[boundaries]]
kind = "container"
lower = [-30.0, -15.0]
upper = [30.0, 15.0]
material = "cushion"

# [[boundaries]]
# kind = "segment"
# start = [-25.0, -10.0]
# end = [-15.0, -10.0]
# motion = {{ kind = "rotating", speed = 1.0 }}

# Or periodic sides: what leaves at one side enters at the opposite one.
# [periodic]
# x = [-30.0, 30.0]
# y = [-15.0, 15.0]
# shear_rate = 0.0            # Lees-Edwards sides if not 0
"""


SPACE_STARTER = """\
# A 3D scene for Carom.   carom validate {file}   checks it,   carom run {file}   runs it.
# Use any consistent units of length, time and mass. z points up.
# Lines that start with # are comments; remove the # to use what they show. Carom's docs/scenes.md lists every key.

[scene]
name = "{name}"
description = "A hundred balls fall onto a stack of boxes."
dimension = 3                 # optional where a shape or boundary is 3D
gravity = [0.0, 0.0, -9.81]
step = 0.005                  # time step
duration = 3.0
frame_rate = 50.0             # recorded frames per unit of time
law = "gr"                    # impact law; `carom laws` lists them
stepper = "drift_safe"        # or "synchronous", "time_of_impact"
# integrator = "split"        # of rotation; "dmv" by default
# restitution_model = "energetic"
# friction_model = "cone"

# -- Materials. `density` (mass / volume) applies for bodies without a mass of their own.

[materials.default]
restitution = 0.3             # 0 to 1
friction = 0.5
density = 1.0

# -- Bodies, one by one. shape = "sphere" with radius, "box" with size, "capsule" or "cylinder" with radius and
#    length, "hull" with vertices, "mesh" with path, "compound" with parts.

[[bodies]]
name = "top"
shape = "cylinder"            # its axis is z, before it is rotated
radius = 0.4
length = 0.3
position = [0.0, 0.0, 1.65]   # or a list of places
# velocity = [0.0, 0.0, -1.0]
# spin = [0.0, 0.0, 5.0]      # about the axes of the world
# rotation = {{ axis = [0.0, 0.0, 1.0], degrees = 45.0 }}
# mass = 3.0
# rotates = true
# motion = "fixed"            # or {{ kind = "rotating", speed = 2.0, axis = [0.0, 0.0, 1.0] }}

# [[bodies]]
# name = "dumbbell"
# shape = "compound"
# position = [-1.3, 1.3, 0.2]
# [[bodies.parts]]
# shape = "capsule"
# radius = 0.1
# length = 0.5
# rotation = {{ axis = [0.0, 1.0, 0.0], degrees = 90.0 }}
# [[bodies.parts]]
# shape = "sphere"
# radius = 0.2
# position = [0.25, 0.0, 0.0]
# [[bodies.parts]]
# shape = "sphere"
# radius = 0.2
# position = [-0.25, 0.0, 0.0]

# -- Many bodies.

[[generators]]
kind = "chain"                # or grid, hex_grid, random_pour, copies
name = "stack"
shape = "box"
size = [1.0, 1.0, 0.5]
count = 3
start = [0.0, 0.0, 0.25]
direction = [0.0, 0.0, 1.0]

[[generators]]
kind = "random_pour"
name = "balls"
shape = "sphere"
radius = {{ kind = "uniform", low = 0.08, high = 0.15 }}
count = 100
lower = [-1.5, -1.5, 2.2]
upper = [1.5, 1.5, 4.0]
seed = 1
# random_velocity = {{ kind = "normal", speed = 1.0 }}

# -- Boundaries: plane, container, tube, shell. They push and are not pushed; they may move.

[[boundaries]]
kind = "container"
lower = [-2.0, -2.0, 0.0]
upper = [2.0, 2.0, 6.0]
open_top = true
# motion = {{ kind = "vibrating", amplitude = 0.02, frequency = 5.0 }}

# Or periodic sides: what leaves at one side enters at the opposite one.
# [periodic]
# x = [-3.0, 3.0]
# y = [-3.0, 3.0]
"""


def starter_text(name: str, file: str, dimension: int = 2) -> str:
    """The starter scene in 2D or 3D, under the given name."""
    safe = name.replace("\\", "\\\\").replace('"', '\\"')
    return (SPACE_STARTER if dimension == 3 else STARTER).format(name=safe, file=file)
