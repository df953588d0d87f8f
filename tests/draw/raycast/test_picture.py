"""Pictures of space: what must be seen where, by projecting points that are known to lie in a body."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from tests.contact.convex_cases import cone_base

from carom import ProblemError
from carom.build import build
from carom.contact.grid_distance import DistanceGrid, grid_of
from carom.draw.camera import FIELD, Rays, looking_at, upward
from carom.draw.framing import STRAY, extent_3d
from carom.draw.raycast import Kept, RayLook, cast, meshes, render
from carom.draw.raycast.background import backdrop
from carom.draw.raycast.picture import ground_of
from carom.draw.raycast.visible import depths, enclosing, placed_parts, seen
from carom.draw.world3d import edges, shell_outlines
from carom.geometry import figures, rotations
from carom.geometry.vectors import Vec3
from carom.scene import Bodies, Scene
from carom.scene.boundaries import Container, Plane, Shell, Tube
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Part, Sphere
from carom.scenes.rabbits import turned_mesh

ROWS = 240
TETRAHEDRON = 0.7 * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], float)
RED, BLUE = (0.9, 0.2, 0.1), (0.1, 0.3, 0.9)


def made(*bodies: Bodies, **fields):
    return build(Scene("picture", bodies, **fields), check_overlap=False)


def at(position, shape=None, **fields) -> Bodies:
    return Bodies(Sphere(1.0) if shape is None else shape, np.atleast_2d(np.array(position, float)), **fields)


def within(shape, points):
    """Which points of the shape's own frame lie in it, from its definition."""
    x, y, z = points.T
    if isinstance(shape, Sphere):
        return x * x + y * y + z * z <= shape.radius**2
    if isinstance(shape, Box):
        return (np.abs(points) <= 0.5 * np.array(shape.size)).all(axis=1)
    if isinstance(shape, Cylinder):
        return (np.hypot(x, y) <= shape.radius) & (np.abs(z) <= 0.5 * shape.length)
    if isinstance(shape, Cone):
        up = z - cone_base(shape)
        radius = shape.radius + (shape.top_radius - shape.radius) * up / shape.length
        return (np.hypot(x, y) <= radius) & (up >= 0.0) & (up <= shape.length)
    if isinstance(shape, Ellipsoid):
        return ((points / shape.half_axes) ** 2).sum(axis=1) <= 1.0
    if isinstance(shape, Capsule):
        return np.hypot(np.hypot(x, y), np.maximum(np.abs(z) - 0.5 * shape.length, 0.0)) <= shape.radius
    hull = ConvexHull(np.asarray(shape.vertices))
    return (points @ hull.equations[:, :3].T + hull.equations[:, 3] <= 0.0).all(axis=1)


def surface(shape, count=20_000):
    """Points of the surface: random directions from the middle, halved until they end on it, and corners."""
    along = np.random.default_rng(0).normal(size=(count, 3))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    low, high = np.zeros(count), np.full(count, 2.0)
    for _ in range(30):
        middle = 0.5 * (low + high)
        there = within(shape, middle[:, None] * along)
        low, high = np.where(there, middle, low), np.where(there, high, middle)
    corners = [np.asarray(shape.vertices)] if isinstance(shape, Hull) else []
    return np.concatenate([low[:, None] * along, *corners])


SHAPES = [Sphere(0.9), Box((1.6, 0.5, 1.0)), Cylinder(0.5, 1.4), Capsule(0.4, 1.1), Hull(TETRAHEDRON)]
SHAPES += [Cone(0.8, 1.4), Cone(0.4, 0.8, 0.9), Ellipsoid((1.0, 0.3, 0.6))]


@pytest.mark.parametrize("shape", SHAPES, ids=[s.kind for s in SHAPES])
def test_a_pixel_shows_a_body_if_and_only_if_the_body_is_there(shape):
    """The silhouette of a convex body is the hull of its projected points: all inside, and as large but for the rim."""
    quaternion = np.array([[0.6, -0.3, 0.5, 0.4]])
    world, state = made(at((1.0, 2.0, 3.0), shape, orientation=quaternion))
    camera = looking_at(state.position, world.shapes_3d.radius, azimuth=-40.0, elevation=25.0, aspect=1.0)
    picture = render(world, state, np.array([RED]), camera, RayLook(ROWS, smooth=1))
    points = surface(shape)
    turned = rotations.turned(np.repeat(quaternion / np.linalg.norm(quaternion), len(points), axis=0), points)
    mask = picture.body == 0
    x, y, depth = camera.project(0.97 * turned + state.position[0]).T  # 0.97: a pixel or more within the rim
    assert (depth > 0.0).all() and mask[(y * ROWS).astype(int), (x * ROWS).astype(int)].all()
    x, y, _ = camera.project(turned + state.position[0]).T
    area = ConvexHull(np.stack([x, y], axis=1) * ROWS).volume
    assert abs(mask.sum() - area) < 0.01 * area + 20.0 and mask.sum() > 0.05 * mask.size


def test_depth_and_normal_of_a_sphere():
    """Seen along its middle a sphere begins a radius before its center, and faces the eye."""
    world, state = made(at((0.0, 5.0, 0.0), Sphere(1.5)))
    camera = looking_at(state.position, world.shapes_3d.radius, azimuth=-90.0, elevation=0.0, aspect=1.0)
    buffers = seen(camera.rays(301, 301), placed_parts(world.shapes_3d, state), world.shapes_3d)
    far = float(np.linalg.norm(camera.eye - state.position[0]))
    assert buffers.depth[150, 150] == pytest.approx(far - 1.5, rel=1e-6)  # single precision
    assert buffers.normal[150, 150] == pytest.approx(-camera.forward, abs=1e-6)
    hit = buffers.part >= 0
    assert np.linalg.norm(buffers.normal[hit], axis=1) == pytest.approx(1.0, abs=1e-6)
    # Rays that touch the rim: their angle has the sine radius / distance.
    rows = np.flatnonzero(hit[:, 150])
    slope = 2.0 * FIELD * (rows[-1] - rows[0] + 1) / 301 / 2.0
    assert slope == pytest.approx(np.tan(np.arcsin(1.5 / far)), abs=2.0 * FIELD / 301)


def test_the_nearer_body_hides_the_farther_whatever_their_order():
    for order in ((0.0, 6.0), (6.0, 0.0)):
        world, state = made(*(at((0.0, y, 0.0), Box((1.0, 1.0, 1.0))) for y in order))
        camera = looking_at(state.position, world.shapes_3d.radius, azimuth=-90.0, elevation=0.0)
        body = render(world, state, np.array([RED, BLUE]), camera, RayLook(60)).body
        nearer = order.index(0.0)
        assert body[30, body.shape[1] // 2] == nearer and (body == nearer).sum() > 100
        assert not (body == 1 - nearer).any()


def test_colors_are_those_of_the_bodies():
    world, state = made(at((-1.5, 0.0, 0.0)), at((1.5, 0.0, 0.0)))
    picture = render(world, state, np.array([RED, BLUE]), looking_at(state.position, np.ones(2), azimuth=-90.0))
    left, right = (picture.pixels[picture.body == k].mean(axis=0) for k in (0, 1))
    assert left[0] > 2 * left[2] and right[2] > 2 * right[0]
    assert (picture.pixels[0] == 255).all()  # white where nothing is
    # No brighter than given, and where the lamp shines nearly as bright.
    assert 0.85 * 255 * RED[0] < picture.pixels[picture.body == 0][:, 0].max() <= 255 * RED[0] * 1.08


def test_a_symmetric_scene_is_seen_symmetric():
    """Mirror images left and right of the camera: the same silhouettes, with the numbers of the bodies exchanged."""
    spots = [[-2.0, 1.0, 0.5], [2.0, 1.0, 0.5], [-0.8, -1.0, -0.5], [0.8, -1.0, -0.5]]
    world, state = made(at(spots[:2]), at(spots[2:], Box((0.8, 0.6, 0.9))))
    camera = looking_at(state.position, world.shapes_3d.radius, azimuth=-90.0, elevation=30.0)
    body = render(world, state, np.tile(RED, (4, 1)), camera, RayLook(200, smooth=1)).body
    partner = np.array([1, 0, 3, 2, -1])
    assert np.array_equal(partner[body], body[:, ::-1])
    assert all((body == k).sum() > 200 for k in range(4))


def test_parts_of_a_compound_are_one_body():
    dumbbell = Compound([Part(Sphere(0.5), (0.0, 0.0, -1.0)), Part(Sphere(0.5), (0.0, 0.0, 1.0))])
    world, state = made(at((0.0, 0.0, 0.0), dumbbell))
    picture = render(world, state, np.array([RED]), look=RayLook(120))
    x, y, _ = picture.camera.project(np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).T
    rows, columns = picture.body.shape
    assert picture.body[(y * rows).astype(int), (x * columns).astype(int)].tolist() == [0, -1, 0]


# ---- floor, shadow, room


def test_a_body_throws_a_shadow_on_the_floor():
    world, state = made(at((0.0, 0.0, 1.5)), boundaries=[Plane()])
    camera = looking_at(np.array([[0.0, 0.0, 1.0]]), np.array([4.0]), azimuth=-90.0, elevation=35.0, aspect=1.0)
    lit = render(world, state, np.array([RED]), camera, RayLook(200))
    x, y, _ = camera.project(np.array([[0.4, 0.3, 0.0], [-3.0, -0.6, 0.0]])).T
    below, aside = lit.pixels[(y * 200).astype(int), (x * 200).astype(int)].astype(int).mean(axis=1)
    assert below < aside - 40 and aside > 200 and lit.spacing is not None
    none, _ = made(at((0.0, 0.0, 1.5)))
    bare = render(none, state, np.array([RED]), camera, RayLook(200))
    assert bare.spacing is None and (bare.pixels[bare.body < 0].min(axis=1) > 250).mean() > 0.97  # but for outlines


def test_what_is_under_the_floor_is_hidden():
    world, state = made(at((0.0, 0.0, -3.0)), at((5.0, 0.0, 1.0)), boundaries=[Plane()])
    picture = render(world, state, np.array([RED, BLUE]), look=RayLook(100))
    red = picture.pixels[..., 0].astype(int) - picture.pixels[..., 2]
    assert red.max() < 20


def test_a_container_has_twelve_edges_and_an_open_one_a_rim():
    far = np.full(3, 50.0)
    for open_top in (False, True):
        container = Container((-1.0, -2.0, 0.0), (1.0, 2.0, 3.0), open_top=open_top)
        world, _ = made(at((0.0, 0.0, 1.5), Sphere(0.2)), boundaries=[container])
        lines = edges(
            world.boundaries, -far, far if not open_top else np.array([50.0, 50.0, 7.0]), upward(world.gravity)
        )
        lengths = sorted(float(np.linalg.norm(line[1] - line[0])) for line in lines)
        tall = 7.0 if open_top else 3.0
        assert lengths == pytest.approx(sorted([2.0] * 4 + [4.0] * 4 + [tall] * 4))


def test_a_tube_ends_at_its_floor_and_a_shell_is_a_circle():
    world, _ = made(at((0.0, 0.0, 1.0), Sphere(0.2)), boundaries=[Tube(2.0), Plane((0.0, 0.0, -1.0))])
    rings = edges(world.boundaries, np.full(3, -9.0), np.full(3, 9.0), upward(world.gravity))
    heights = sorted(float(ring[:, 2].mean()) for ring in rings)
    assert heights == pytest.approx([-1.0, 9.0])
    assert np.hypot(rings[0][:, 0], rings[0][:, 1]) == pytest.approx(2.0)
    world, _ = made(at((0.0, 0.0, 0.0), Sphere(0.2)), boundaries=[Shell(3.0)])
    (circle,) = shell_outlines(world.boundaries, np.array([0.0, -6.0, 0.0]))
    assert np.linalg.norm(circle, axis=1) == pytest.approx(3.0)
    assert circle[:, 1] == pytest.approx(-1.5)  # r^2 / distance: there the rays from the eye touch it


def test_rays_leave_a_box_through_the_far_side():
    world, _ = made(at((0.0, 0.0, 0.5), Sphere(0.1)), boundaries=[Container((-1.0, -1.0, 0.0), (1.0, 1.0, 1.0))])
    camera = looking_at(np.array([[0.0, 0.0, 0.5]]), np.array([2.0]), azimuth=-90.0, elevation=0.0, aspect=1.0)
    back = backdrop(camera.rays(101, 101), 1, world.boundaries, ground_of(world, camera, upward(world.gravity)))
    wall = int(back.boundary[50, 50])
    assert world.boundaries.axis[wall].tolist() == [0.0, -1.0, 0.0]
    assert camera.eye[1] + back.depth[50, 50] == pytest.approx(1.0, abs=1e-5)
    assert back.boundary[0, 0] == -1  # past the box


# ---- films


def test_pictures_of_a_film_do_not_depend_on_what_was_kept():
    """Bodies at rest, one that moves, one that starts and stops: each picture has the bits of one drawn alone."""
    places = [(0.0, 0.0, 0.5), (1.2, 0.0, 0.5), (0.0, 1.5, 0.5), (1.0, 1.4, 0.4)]
    world, start = made(*(at(place, Box((0.8, 0.8, 0.8))) for place in places), boundaries=[Plane()])
    camera = looking_at(np.array(places), np.full(4, 1.0))
    colors, look, kept = np.full((4, 3), 0.6), RayLook(rows=60), Kept()
    motions = [(0.0, 0.0), (0.1, 0.0), (0.2, 0.0), (0.3, 0.1), (0.4, 0.2), (0.4, 0.2), (0.5, 0.2)]
    drawn = []
    for first, second in motions:
        move = np.zeros((4, 3))
        move[0, 2], move[1, 0] = first, second
        state = dataclasses.replace(start, position=start.position + move)
        alone = render(world, state, colors, camera, look)
        drawn.append(render(world, state, colors, camera, look, kept=kept))
        assert (drawn[-1].pixels == alone.pixels).all()
    assert drawn[5] is drawn[4] and drawn[6] is not drawn[5]  # nothing moved: the picture itself is used again
    assert (drawn[0].pixels != drawn[1].pixels).any()


# ---- camera


def test_the_camera_sees_all_and_no_more_than_it_must():
    rng = np.random.default_rng(1)
    centers, radius = rng.normal(size=(40, 3)) * [3.0, 1.0, 0.5] + 7.0, rng.uniform(0.1, 0.5, 40)
    for azimuth, elevation in ((None, None), (10.0, 80.0), (200.0, -30.0)):
        camera = looking_at(centers, radius, azimuth=azimuth, elevation=elevation)
        around = rng.normal(size=(400, 1, 3))
        points = (centers + radius[:, None] * around / np.linalg.norm(around, axis=2, keepdims=True)).reshape(-1, 3)
        x, y, depth = camera.project(points).T
        assert min(x.min(), y.min()) > 0.0 and max(x.max(), y.max()) < 1.0 and (depth > 0.0).all()
        assert max(np.ptp(x), np.ptp(y)) > 0.8


def test_up_is_z_or_against_gravity():
    assert upward(np.zeros(3)).tolist() == [0.0, 0.0, 1.0]
    assert upward(np.array([0.0, -9.81, 0.0])).tolist() == [0.0, 1.0, 0.0]
    assert upward(np.array([3.0, 0.0, -9.0])).tolist() == [0.0, 0.0, 1.0]
    camera = looking_at(np.zeros((1, 3)), np.ones(1), (0.0, 1.0, 0.0))
    assert camera.project(np.array([[0.0, 1.0, 0.0]]))[0, 1] < camera.project(np.zeros((1, 3)))[0, 1]
    with pytest.raises(ProblemError, match="elevation"):
        looking_at(np.zeros((1, 3)), np.ones(1), elevation=100.0)


# ---- rays


def test_a_grid_of_distances_is_seen_as_its_surface():
    """Distances to a sphere of radius 1 on a grid: linear between nodes they err by spacing^2 / 8 at most there."""
    spacing, nodes = 0.1, np.arange(-1.5, 1.51, 0.1)
    x, y, z = np.meshgrid(nodes, nodes, nodes, indexing="ij")
    value = (np.sqrt(x * x + y * y + z * z) - 1.0).ravel()
    grid = DistanceGrid(value, 0, len(nodes), len(nodes), len(nodes), Vec3(nodes[0], nodes[0], nodes[0]), spacing)
    way = Vec3(2.0, 0.0, 0.0)
    for b in (0.0, 0.33, 0.71):
        t, normal, _ = meshes.trace(cast.Ray(Vec3(-5.0, b, 0.1), way), grid, True, np.inf).hit
        hit = np.array([-5.0 + 2.0 * t, b, 0.1])
        assert np.linalg.norm(hit) == pytest.approx(1.0, abs=2 * spacing**2)
        assert np.array(normal) == pytest.approx(hit, abs=0.02)
    assert meshes.trace(cast.Ray(Vec3(5.0, 0.0, 0.0), way), grid, True, np.inf).hit.time == np.inf  # behind
    for b in (1.05, 1.2, 1.45, 3.0):
        passed = meshes.trace(cast.Ray(Vec3(-5.0, b, 0.0), way), grid, True, np.inf)
        assert passed.hit.time == passed.until == np.inf and 0.0 <= passed.clear <= b - 1.0
        hidden = meshes.trace(cast.Ray(Vec3(-5.0, 0.0, 0.0), way), grid, True, 1.9)
        assert hidden.hit.time == np.inf and 0.0 < hidden.clear <= 4.0 - 2.0 * hidden.until + 1e-12


@pytest.fixture(scope="module")
def dolls():
    """Hollow dolls in each other, their upper halves lifted."""
    bodies = []
    for size in (1.0, 0.7):
        for profile, lift in zip(figures.doll_profiles(size), (0.0, 0.5)):
            bodies.append(at((0.0, 0.0, 1.4 + lift), turned_mesh(profile, spacing=size / 16)))
    return made(*bodies, boundaries=[Plane()])


def test_rays_at_meshes_that_are_not_cast_are_known(dolls):
    """Every ray is cast here, at every mesh: the same rays meet the same mesh, at the same depth to 0.3 of a cell."""
    world, state = dolls
    shapes, parts = world.shapes_3d, placed_parts(world.shapes_3d, state)
    rays = looking_at(state.position, shapes.radius).rays(60, 80)
    found = seen(rays, parts, shapes, 2)
    for i, j in np.ndindex(rays.rows, rays.columns):
        b, a = (0.5 * rays.rows - i - 0.5) / rays.scale, (j + 0.5 - 0.5 * rays.columns) / rays.scale
        times = []
        for p in range(4):
            local = parts.turn[p].T
            ray = cast.Ray(
                Vec3(*(local @ (rays.eye - parts.place[p]))),
                Vec3(*(local @ (rays.forward + a * rays.right + b * rays.up))),
            )
            times.append(meshes.trace(ray, grid_of(shapes, parts.shape[p]), True, np.inf).hit.time)
        assert (found.part[i, j] >= 0) == (min(times) < np.inf)
        if found.part[i, j] >= 0:
            assert found.depth[i, j] == pytest.approx(min(times), abs=0.02)
    assert set(np.unique(found.part)) >= {-1, 0, 1}


def test_rays_at_meshes_know_nothing_of_rays_that_were_not_cast(dolls, monkeypatch):
    """The array of what lattice rays tell begins with anything, and meshes reach beyond the last of its lines."""
    world, state = dolls
    shapes, parts = world.shapes_3d, placed_parts(world.shapes_3d, state)
    rays, sampling = looking_at(state.position, shapes.radius).rays(64, 80), meshes.sampling
    for aside, down in ((0.0, 0.0), (0.7, 0.9), (-0.7, -0.9)):
        pictures = []
        for before in ((0.0, 0.0, 0.0), (np.inf, 1e3, np.inf)):  # and as if all rays kept far away

            def filled(*arguments, value=before):
                way = sampling(*arguments)
                way.known[:] = value
                return way

            monkeypatch.setattr(meshes, "sampling", filled)
            pictures.append(seen(rays._replace(eye=rays.eye - aside * rays.right + down * rays.up), parts, shapes, 2))
        assert np.array_equal(pictures[0].depth, pictures[1].depth) and (pictures[0].part >= 0).any()
        if aside:
            assert (pictures[0].part[-1 if down > 0.0 else 0] >= 0).any()


def test_interpolation_between_rays_at_meshes_is_not_seen(dolls, monkeypatch):
    """Beside a picture with a lattice of all rays: differences at a few pixels where two of the meshes overlap."""
    world, state = dolls
    colors, look = np.array([RED, BLUE, RED, BLUE]), RayLook(rows=180)
    fewer = render(world, state, colors, look=look)
    sampling = meshes.sampling
    monkeypatch.setattr(meshes, "sampling", lambda rays, ray, lattice: sampling(rays, ray, ray))
    more = render(world, state, colors, look=look)
    levels = np.abs(fewer.pixels.astype(int) - more.pixels).max(axis=2)
    assert (fewer.body != more.body).mean() < 2e-4
    assert (levels > 0).mean() < 3e-3 and (levels > 4).mean() < 3e-4


def test_a_shadow_map_is_a_parallel_picture():
    """A box of 2 x 1 seen along z at 10 pixels a length unit covers 20 x 10 of them, at the depth of its top."""
    world, state = made(at((0.0, 0.0, 0.0), Box((2.0, 1.0, 4.0))))
    x, y, z = np.eye(3)
    depth = depths(Rays(10.0 * z, x, y, -z, 10.0, 60, 60, True), placed_parts(world.shapes_3d, state), world.shapes_3d)
    assert np.isfinite(depth).sum() == 200 and depth[30, 30] == pytest.approx(8.0)


def test_pictures_are_the_same_every_time():
    world, state = made(at([[0.0, 0.0, 1.0], [1.5, 1.0, 1.0]]), boundaries=[Plane()])
    one, two = (render(world, state, np.array([RED, BLUE]), look=RayLook(60)).pixels for _ in range(2))
    assert np.array_equal(one, two)


# ---- glass and strays


def hollow(side: float, wall: float) -> Compound:
    """A closed box of six plates."""
    shift = 0.5 * (side - wall)
    parts = []
    for axis in range(3):
        size, place = [side, side, side], [0.0, 0.0, 0.0]
        size[axis] = wall
        for sign in (-1.0, 1.0):
            place[axis] = sign * shift
            parts.append(Part(Box(tuple(size)), tuple(place)))
    return Compound(parts)


def test_what_encloses_another_body_is_glass():
    """Red inside a hollow blue box is seen through it; beside the box it does not make it glass."""
    looks = []
    for place in ((0.0, 0.0, 0.0), (4.0, 0.0, 0.0)):
        world, state = made(at((0.0, 0.0, 0.0), hollow(2.0, 0.1)), at(place, Sphere(0.6)))
        found = enclosing(world.shapes_3d, state, placed_parts(world.shapes_3d, state))
        assert found.tolist() == ([0] if place[0] == 0.0 else [])
        picture = render(world, state, np.array([BLUE, RED]), look=RayLook(160))
        rows, columns = picture.body.shape
        x, y, _ = picture.camera.project(np.zeros((1, 3)))[0]
        looks.append(picture.pixels[int(y * rows), int(x * columns)].astype(int))
    assert looks[0][0] > looks[0][2] + 40 and looks[1][2] > looks[1][0] + 40


def test_a_slab_below_a_body_is_not_glass():
    slab = Compound([Part(Box((4.0, 4.0, 0.5)), (x, 0.0, 0.0)) for x in (-2.0, 2.0)])
    world, state = made(at((0.0, 0.0, 0.0), slab), at((0.0, 0.0, 1.0), Sphere(0.6)))
    assert len(enclosing(world.shapes_3d, state, placed_parts(world.shapes_3d, state))) == 0


def test_one_that_flew_off_does_not_shrink_the_rest():
    rng = np.random.default_rng(2)
    crowd = rng.uniform(-3.0, 3.0, (30, 3))
    for count, seen_whole in ((1, False), (10, True)):  # of 31 a tenth may be left out, of 40 not ten
        far = np.array([[200.0 + 3.0 * k, 0.0, 0.0] for k in range(count)])
        world, state = made(at(np.concatenate([crowd, far]), Sphere(0.5)))
        extent = extent_3d(world, [state], stray=STRAY)
        x, _, depth = looking_at(extent.centers, extent.radii).project(state.position).T
        assert (x[:30] > 0.0).all() and (x[:30] < 1.0).all()
        assert ((np.abs(x[30:] - 0.5) < 0.5) & (depth[30:] > 0.0)).all() == seen_whole
