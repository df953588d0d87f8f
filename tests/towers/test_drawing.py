"""Pictures of towers: what is in them, where it is, and that nothing else is touched."""

from __future__ import annotations

import re

import matplotlib.image
import numpy as np
import pytest

from carom import ProblemError
from carom.towers import Brick, Tower
from carom.towers.contacts import contact_rows, weights
from carom.towers.drawing import WHAT, acting, carried, displaced, thickness
from carom.towers.named import NAMED, named_tower
from carom.towers.sheet import Sheet, _box


def svg(tower, tmp_path, **options) -> str:
    return tower.draw(tmp_path / "t.svg", **options) or (tmp_path / "t.svg").read_text()


def group(text: str, name: str) -> str:
    """The part of an SVG that an artist of this name drew."""
    found = re.search(rf'<g id="{name}">(.*?)\n  ?  ?</g>', text, flags=re.DOTALL)
    return found.group(1) if found else ""


def ink(path) -> float:
    """Share of the pixels that are not white."""
    return float((matplotlib.image.imread(path)[..., :3].min(axis=2) < 0.98).mean())


@pytest.mark.parametrize("what", WHAT)
def test_every_picture_is_there_and_not_blank(what, tmp_path):
    tower = Tower.diamond(5)
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        path = tmp_path / f"{what}.{ending}"
        tower.draw(path, what=what)
        assert path.read_bytes().startswith(start)
    assert 0.2 < ink(tmp_path / f"{what}.png") < 0.95
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".pdf", ".png", ".svg"], "no parts are left"


def test_forces_have_arrows_and_a_scale(tmp_path):
    """The harmonic stack of 5 has one carrying contact below each brick."""
    text = svg(Tower.harmonic(5), tmp_path)
    assert group(text, "forces").count("<path") == 5 and group(text, "scale").count("<path") == 1
    assert "5 brick weights" in text and group(text, "fixed") and group(text, "ground")
    assert "ghosts" not in text


def test_an_overhang_is_dimensioned_beside_the_table(tmp_path):
    """The harmonic stack of 4 reaches 25/24 of a brick beyond its table; a tower without fixed bricks has no edge."""
    assert "1.042 brick lengths" in svg(Tower.harmonic(4), tmp_path)
    assert "1 brick length<" in svg(named_tower("counterweight"), tmp_path)
    assert "brick length" not in svg(Tower.diamond(3), tmp_path) + svg(named_tower("truss"), tmp_path)


def test_every_brick_is_inside_the_frame():
    """Short fixed bricks are shown whole, also far from the others; of a long table the part beside the stack is."""
    posts = [Brick.rectangle(x, 0.5, 1, 1, fixed=True) for x in (-9, 9)]
    tower = Tower((*posts, Brick.rectangle(0, 0.5, 2, 1)))
    left, right, bottom, top = _box(tower, [])
    assert left < -9.5 and right > 9.5 and bottom < 0 < 1 < top
    left, right, *_ = _box(Tower.harmonic(5), [])
    corners = np.concatenate([c for c, free in zip(Tower.harmonic(5).corners, Tower.harmonic(5).free) if free])
    assert left < corners[:, 0].min() and right > corners[:, 0].max() and right - left < 5.0


def test_arrows_start_beside_their_dots(tmp_path):
    """Also where the weight is right above the contact: the distance is more than half of the dot."""
    tower = Tower.harmonic(3)
    inward = acting(tower, tower.stability().forces, None)[2]
    assert (np.hypot(*inward.T) > 0.99).all()
    with Sheet.of(tower, 3.5, [], 1) as page:
        assert page.inside / page.inch * 72.0 > 2.2 * page.fine / 2 + 0.018 * 72.0 * page.fine / 2


def test_a_plain_picture_has_no_arrows(tmp_path):
    text = svg(Tower.harmonic(5), tmp_path, what="plain")
    assert "forces" not in text and "scale" not in text and group(text, "bricks").count("<path") == 5


def test_the_onset_marks_what_opens_and_what_moves(tmp_path):
    tower = named_tower("leaning")
    onset = tower.initial_collapse()
    text = svg(tower, tmp_path, what="velocities")
    assert group(text, "opening").count("<use") == onset.opens.sum() > 0
    assert group(text, "contacts").count("<use") == (~onset.opens).sum()
    assert group(text, "ghosts").count("<path") == len(onset.moving) == 5
    assert "contact opens" in text and "acceleration" in text


def test_a_tower_at_rest_has_no_motion_to_draw(tmp_path):
    text = svg(Tower.stack([0, 0]), tmp_path, what="velocities", caption=True)
    assert "ghosts" not in text or not group(text, "ghosts").strip()
    assert "stays at rest" in text and "acceleration" not in text
    with pytest.raises(ProblemError, match="stable tower has no motion"):
        Tower.stack([0, 0]).draw(tmp_path / "x.svg", what="certificate")
    assert not (tmp_path / "x.svg").exists()


def test_numbers_and_captions_are_text(tmp_path):
    tower = Tower.diamond(3, name="my tower")
    plain = svg(tower, tmp_path)
    full = svg(tower, tmp_path, numbers=True, caption=True)
    own = svg(tower, tmp_path, caption="Figure 3")
    assert ">8</text>" in full and ">8</text>" not in plain
    assert "my tower: 9 bricks" in full and "stable" in full and "Figure 3" in own and "my tower" not in plain


@pytest.mark.parametrize(
    "name", [*(n if n == "truss" else pytest.param(n, marks=pytest.mark.long) for n in NAMED), "wall-3x4"]
)
def test_named_towers_can_be_drawn(name, tmp_path):
    tower = named_tower(name)
    for what in ("forces", "velocities"):
        tower.draw(tmp_path / f"{what}.png", what=what)
        assert ink(tmp_path / f"{what}.png") > 0.05
    if name == "truss":
        with pytest.raises(ProblemError):
            tower.draw(tmp_path / "resting.png", what="resting")
        assert not (tmp_path / "resting.png").exists()


@pytest.mark.parametrize("tower", [Tower.stack([0] * 40), Tower.wall(1, 30), Tower.wall(2, 2, brick=(300, 100))])
def test_long_and_large_towers_fit_the_page(tower, tmp_path):
    tower.draw(tmp_path / "t.png", width=3.5)
    high, wide = matplotlib.image.imread(tmp_path / "t.png").shape[:2]
    assert wide <= 3.5 * 300 + 1 and high <= 9.5 * 300 and min(high, wide) > 60


def test_the_same_picture_gives_the_same_bytes(tmp_path):
    for ending in ("svg", "pdf", "png"):
        for k in range(2):
            Tower.harmonic(3).draw(tmp_path / f"{k}.{ending}")
        assert (tmp_path / f"0.{ending}").read_bytes() == (tmp_path / f"1.{ending}").read_bytes()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("t.gif", {}, ".svg"),
        ("t", {}, ".png"),
        ("no/t.png", {}, "folder"),
        ("folder.png", {}, "file name"),
        ("t.png", {"what": "force"}, "did you mean 'forces'"),
        ("t.png", {"width": 0}, "width"),
        ("old.png", {"overwrite": False}, "exists"),
    ],
)
def test_bad_requests_touch_nothing(name, options, words, tmp_path):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "old.png").write_bytes(b"old")
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(ProblemError, match=re.escape(words)):
        Tower.stack([0]).draw(tmp_path / name, **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == before and (tmp_path / "old.png").read_bytes() == b"old"


# ---- what the arrows mean


@pytest.mark.parametrize("name", ["wall-3x4", "arch", "counterweight", "diamond-4"])
def test_arrows_are_forces_on_the_brick_above(name):
    """Each force as drawn, put on the brick above and against the one below, balances all weights."""
    tower = named_tower(name)
    forces = tower.stability().forces
    at, vectors, inward = acting(tower, forces, None)
    _, upper, lower = carried(tower)
    left = weights(tower).reshape(-1, 3).copy()
    for point, vector, a, b in zip(at, vectors, upper, lower):
        for brick, sign in ((a, 1.0), (b, -1.0)):
            if brick >= 0 and tower.free[brick]:
                arm = point - tower.center[brick]
                left[brick] += sign * np.array([*vector, arm[0] * vector[1] - arm[1] * vector[0]])
    assert np.abs(left).max() <= 1e-9 * np.abs(weights(tower)).sum()
    assert (vectors[:, 1] >= -1e-12).all(), "no arrow points down"
    assert np.abs((inward * tower.contacts.normal).sum(axis=1)).max() <= 1e-12, "it stands off along the edge"


def test_outlines_follow_the_motion_and_keep_their_shape():
    """The largest shift is what the picture allows; sides keep their length; contacts that open do open."""
    tower = Tower.diamond(5)
    motion = tower.initial_collapse().acceleration
    moved = displaced(tower, motion)
    shift = max(float(np.hypot(*(new - old).T).max()) for new, old in zip(moved, tower.corners))
    assert shift == pytest.approx(0.45 * thickness(tower), rel=0.05)  # rotation by the small angle itself
    for new, old in zip(moved, tower.corners):
        sides = [np.hypot(*(np.roll(c, -1, axis=0) - c).T) for c in (new, old)]
        assert np.allclose(*sides, rtol=1e-12)
    center = np.array([m.mean(axis=0) - c.mean(axis=0) for m, c in zip(moved, tower.corners)])
    speed = np.hypot(motion[:, 0], motion[:, 1])
    assert np.allclose(center / np.hypot(*center.T).max(), motion[:, :2] / speed.max(), atol=1e-9)
    assert (contact_rows(tower) @ motion.ravel()).min() >= -1e-9 * np.abs(motion).max()


def test_thickness_is_a_bricks_height():
    assert thickness(Tower.wall(3, 3, brick=(3, 1))) == 1.0
    assert thickness(Tower.harmonic(4)) == 0.25, "the table does not count"
    turned = Tower.from_bricks([(0, 2, 3, 0.5, 0.3)], floating=True)
    assert thickness(turned) == pytest.approx(0.5, rel=1e-12)
