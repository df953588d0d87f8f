"""Bad towers and bad questions: one line that names the field, what it was and what would be right, and no file."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from carom import ProblemError
from carom.towers import Brick, Pin, Tower
from carom.towers.files import load_tower
from carom.towers.overhang import largest_overhang

UNIT = {"x": 0, "y": 0.5, "width": 1, "height": 1}
DENT = [(0, 0), (2, 0), (1, 0.5), (1, 2)]
HUGE = 10**400  # an int that no double holds
UNWRITABLE = 10**5000  # an int that Python refuses to write
PAIR = np.array([1, 2])  # has no truth value


def bricks(*rows, **options):
    return lambda: Tower.from_bricks(rows, **options)


def one(**changes):
    return lambda: Tower.from_bricks([{**UNIT, **changes}])


def two():
    return Tower.stack([0, Fraction(1, 4)])


def collapse(**options):
    return lambda: two().collapse(**{"steps": 2, **options})


CONVEX = "a strictly convex polygon: its corners in order, none on a straight line"
IN_THE_AIR = "got floating in the air; expected bricks connected to the ground by contacts or pins (or floating=True)"
NUMBER = 'a finite number (1, 0.5, Fraction(1, 6) or "1/6")'
ROW = "(x, y, width, height) or (x, y, width, height, angle), or a Brick"
PIN = "(first brick, second brick or -1, (x, y))"
SHAPES = "(known: polygon, rectangle)"

TOWERS = {
    "overlap": (
        bricks((0, 0.5, 1, 1), (0.5, 0.5, 1, 1)),
        "bricks[1]: got an overlap of 0.5 with bricks[0]; expected bricks that overlap by at most 1e-06",
    ),
    "in the ground": (
        bricks((0, 0.25, 1, 1)),
        "bricks[0]: got a lowest corner at y = -0.25; expected a brick above the ground, y = 0",
    ),
    "floating": (bricks((0, 0.5, 1, 1), (5, 3, 1, 1)), f"bricks[1]: {IN_THE_AIR}"),
    "all floating": (
        bricks(*((2 * k, 3, 1, 1) for k in range(9))),
        f"bricks[0], bricks[1], bricks[2] ...: {IN_THE_AIR}",
    ),
    "no width": (bricks((0, 0.5, 0, 1)), "bricks[0].width: got 0; expected a number above 0"),
    "height below 0": (bricks((0, 0.5, 1, -1)), "bricks[0].height: got -1; expected a number above 0"),
    "wall of nothing": (
        lambda: Tower.wall(2, 2, brick=(3, 0)),
        "brick height: got 0; expected a number above 0",
    ),
    "no density": (one(density=0), "bricks[0].density: got 0; expected a number above 0"),
    "concave": (
        bricks({"corners": DENT}),
        f"bricks[0].corners: got [(0.0, 0.0), (2.0, 0.0), (1.0, 0.5), (1.0, 2.0)]; expected {CONVEX}",
    ),
    "no area": (
        lambda: Brick.polygon([(0, 0), (1, 0), (2, 0)]),
        f"brick.corners: got [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]; expected {CONVEX}",
    ),
    "two corners": (
        lambda: Brick.polygon([(0, 0), (1, 0)]),
        "brick.corners: got [(0.0, 0.0), (1.0, 0.0)]; expected at least three corners (x, y), finite",
    ),
    "unknown shape": (
        one(shape="rectangel"),
        f"unknown bricks[0].shape 'rectangel': did you mean 'rectangle'? {SHAPES}",
    ),
    "shape is a list": (one(shape=[]), f"unknown bricks[0].shape [] {SHAPES}"),
    "unknown field": (
        one(color="red"),
        "bricks[0].color: no such field (known: angle, density, fixed, height, name, shape, width, x, y)",
    ),
    "empty": (bricks(), "bricks: got (); expected at least one brick"),
    "nothing": (lambda: Tower(()), "bricks: got (); expected at least one brick"),
    "no list": (lambda: Tower(3), "bricks: got 3; expected a list of bricks"),
    "text for bricks": (lambda: Tower("x"), f"bricks[0]: got x; expected {ROW}"),
    "a number for a brick": (lambda: Tower((1,)), f"bricks[0]: got 1; expected {ROW}"),
    "bricks taken away": (lambda: two().with_(bricks=None), "bricks: got None; expected a list of bricks"),
    "no parameters": (
        lambda: two().with_(parameters=7),
        "parameters: got 7; expected a mapping from names to values",
    ),
    "too far for doubles": (
        bricks((1e12, 0.5, 1, 1)),
        "bricks[0]: got a corner at (1e+12, 0); expected bricks within 1e+08 times the shortest side (1) of the origin",
    ),
    "a pin too far for doubles": (
        lambda: Tower.from_bricks([(0, 0.5, 1, 1)], pins=[(0, -1, (1e15, 0.5))]),
        "pins[0].at: got (1000000000000000.0, 0.5); expected a point within 1e+08 times the shortest side (1) "
        "of the origin",
    ),
    "too thin for doubles": (
        bricks((0, 5e-31, 1, 1e-30)),
        "bricks[0]: got a corner at (-0.5, 0); expected bricks within 1e+08 times the shortest side (1e-30) "
        "of the origin",
    ),
    "name of a tower": (lambda: Tower.wall(1, 1, name=7), "name: got 7; expected text"),
    "name that no file holds": (lambda: Tower.wall(1, 1, name="\ud800"), "name: got '\\ud800'; expected text"),
    "name of a brick": (one(name=7), "bricks[0].name: got 7; expected text"),
    "fixed": (one(fixed="no"), "bricks[0].fixed: got no; expected true or false"),
    "floating is no flag": (
        lambda: Tower.wall(1, 1, floating=PAIR),
        "floating: got array([1, 2]); expected true or false",
    ),
    "bond": (lambda: Tower.wall(2, 2, bond=PAIR), "unknown bond array([1, 2]) (known: running, shifted, stacked)"),
    "mass model": (
        lambda: Tower.wall(2, 2, mass_model=PAIR),
        "unknown mass_model array([1, 2]) (known: corners, uniform)",
    ),
    "mass model of a brick": (
        lambda: Brick.rectangle(0, 0, 1, 1).properties("unifrom"),
        "unknown mass_model 'unifrom': did you mean 'uniform'? (known: corners, uniform)",
    ),
    "gravity upwards": (lambda: Tower.wall(1, 1, gravity=-1), "gravity: got -1; expected a number from 0 to 1e50"),
}

NUMBERS = {
    "nan": (lambda: Tower.stack([math.nan]), f"offsets[0]: got nan; expected {NUMBER}"),
    "infinity": (lambda: Tower.stack(["inf"]), f"offsets[0]: got inf; expected {NUMBER}"),
    "divided by zero": (lambda: Tower.stack(["1/0"]), f"offsets[0]: got 1/0; expected {NUMBER}"),
    "truth": (lambda: Tower.stack([True]), f"offsets[0]: got True; expected {NUMBER}"),
    "bytes": (lambda: Tower.stack([b"1"]), f"offsets[0]: got b'1'; expected {NUMBER}"),
    "too large as text": (
        lambda: Tower.stack(["1e400"]),
        "offsets[0]: got 1e400; expected a number from -1e50 to 1e50",
    ),
    "endless as text": (
        lambda: Tower.stack(["1e999999999"]),
        "offsets[0]: got 1e999999999; expected a number with an exponent from -400 to 400",
    ),
    "endlessly small": (
        lambda: Tower.stack(["1E-999999999"]),
        "offsets[0]: got 1E-999999999; expected a number with an exponent from -400 to 400",
    ),
    "huge": (
        lambda: Tower.stack([HUGE]),
        "offsets[0]: got a whole number of about 401 digits; expected a number from -1e50 to 1e50",
    ),
    "too long to write": (
        lambda: Tower.stack([UNWRITABLE]),
        "offsets[0]: got a whole number of about 5001 digits; expected a number from -1e50 to 1e50",
    ),
    "too long to write, in a list": (
        bricks((UNWRITABLE,)),
        f"bricks[0]: got a number of very many digits; expected {ROW}",
    ),
    "huge angle": (
        bricks((0, 0.5, 1, 1, HUGE)),
        "bricks[0].angle: got a whole number of about 401 digits; expected a number from -1e50 to 1e50",
    ),
    "huge gravity": (
        lambda: Tower.wall(1, 1, gravity=HUGE),
        "gravity: got a whole number of about 401 digits; expected a number from 0 to 1e50",
    ),
    "tiny side": (
        lambda: Tower.wall(1, 1, brick=(1e-320, 1)),
        "brick width: got 1e-320; expected a number from 1e-50 to 1e50",
    ),
    "huge side": (
        lambda: Tower.wall(1, 1, brick=(1, 1e200)),
        "brick height: got 1e+200; expected a number from 1e-50 to 1e50",
    ),
    "rows": (
        lambda: Tower.wall(HUGE, 2),
        "rows: got a whole number of about 401 digits; expected at most 100,000 bricks in all",
    ),
    "columns": (lambda: Tower.wall(2, 10**9), "columns: got 1000000000; expected at most 100,000 bricks in all"),
    "rows are two": (lambda: Tower.wall(PAIR, 2), "rows: got array([1, 2]); expected a whole number from 1 up"),
    "half a row": (lambda: Tower.wall(1.5, 2), "rows: got 1.5; expected a whole number from 1 up"),
    "diamond": (lambda: Tower.diamond(10**9), "n: got 1000000000; expected at most 100,000 bricks in all"),
    "harmonic": (lambda: Tower.harmonic(10**9), "n: got 1000000000; expected a whole number from 1 to 10,000"),
    "gap": (lambda: Tower.diamond(2, gap=-1), "gap: got -1; expected 0 or more"),
}

PINS = {
    "none": (None, f"pins: got None; expected a list of pins {PIN}"),
    "a number": (1, f"pins: got 1; expected a list of pins {PIN}"),
    "text": ("x", f"pins[0]: got x; expected {PIN}"),
    "a list of numbers": ([1], f"pins[0]: got 1; expected {PIN}"),
    "half a brick": ([(1.5, 0, (0, 0))], "pins[0].first: got 1.5; expected the number of a brick, 0 to 1"),
    "truth": ([(True, 0, (0, 0))], "pins[0].first: got True; expected the number of a brick, 0 to 1"),
    "no brick": ([Pin(None, -1, (0, 0))], "pins[0].first: got None; expected the number of a brick, 0 to 1"),
    "endless": ([(0, math.inf, (0, 0))], "pins[0].second: got inf; expected the number of a brick, -1 to 1"),
    "beyond the last": ([(0, 2, (0, 0))], "pins[0].second: got 2; expected the number of a brick, -1 to 1"),
    "itself": ([(1, 1, (0, 0))], "pins[0]: got (1, 1); expected two different bricks"),
    "nowhere": ([Pin(0, -1, None)], f"pins[0]: got Pin(first=0, second=-1, at=None); expected {PIN}"),
    "not finite": ([Pin(0, -1, (math.nan, 0))], f"pins[0].at: got nan; expected {NUMBER}"),
}

FALL = "a number from 5.05e-09 to 0.505: free fall per step is then 1e-15 to 10 times the shortest side"
QUESTIONS = {
    "step 0": (collapse(step=0), "step: got 0; expected a number above 0"),
    "step below all": (collapse(step=1e-320), "step: got 1e-320; expected a number from 1e-50 to 1e50"),
    "step beyond all": (collapse(step=1e300), "step: got 1e+300; expected a number from 1e-50 to 1e50"),
    "step lost to rounding": (collapse(step=1e-10), f"step: got 1e-10; expected {FALL}"),
    "step of a long fall": (collapse(step=1e9), f"step: got 1000000000.0; expected {FALL}"),
    "motion lost to rounding": (
        lambda: two().with_(gravity=0).collapse(2, 1e-40, velocity=np.ones((2, 3))),
        "step: got 1e-40; expected a number from 2.5e-16 up: the motion per step is lost to rounding",
    ),
    "speed": (
        collapse(velocity=np.full((2, 3), 1e300)),
        "velocity: got a speed of 1e+300; expected speeds up to 2.5e+07: 1e+06 shortest sides per step",
    ),
    "huge speed": (
        collapse(velocity=[[HUGE, 0, 0]] * 2),
        "velocity: got a number beyond 1.8e308; expected 2 rows (vx, vy, spin)",
    ),
    "steps": (
        collapse(steps=HUGE),
        "steps: got a whole number of about 401 digits; expected a whole number from 1 to 1,000,000,000",
    ),
    "passes": (collapse(passes=10**9), "passes: got 1000000000; expected a whole number from 1 to 1,000"),
    "penalty": (
        collapse(penalty=HUGE),
        "penalty: got a whole number of about 401 digits; expected a number from 1e-50 to 1e50",
    ),
    "method": (collapse(method=PAIR), "unknown method array([1, 2]) (known: acceleration, position)"),
    "lengths": (collapse(lengths=PAIR), "unknown lengths array([1, 2]) (known: original, penalty, previous)"),
    "feedback": (collapse(feedback="no"), "feedback: got no; expected true or false"),
    "keep_symmetry": (collapse(keep_symmetry=1), "keep_symmetry: got 1; expected true or false"),
    "impulses": (collapse(impulses=PAIR), "impulses: got array([1, 2]); expected true or false"),
    "overwrite": (collapse(overwrite="yes", output="old.h5"), "overwrite: got yes; expected true or false"),
    "progress": (collapse(progress="x"), "progress: got x; expected a function of one Progress"),
    "output 1": (collapse(output=1), "output: got 1; expected the name of a file"),
    "output in bytes": (collapse(output=b"a.h5"), "output: got b'a.h5'; expected the name of a file"),
    "output without a name": (collapse(output=""), "output: got ''; expected the name of a file"),
    "output cut in two": (collapse(output="a\0.h5"), "output: got 'a\\x00.h5'; expected the name of a file"),
    "output of another kind": (collapse(output="a.txt"), "output: got a.txt; expected a name that ends in .h5"),
    "output that exists": (
        collapse(output="old.h5"),
        "output: got old.h5; expected a file that does not exist yet, or overwrite=True (--overwrite)",
    ),
    "bad step, old output": (
        collapse(output="old.h5", overwrite=True, step=-1),
        "step: got -1; expected a number above 0",
    ),
    "load": (lambda: Tower.load(None), "path: got None; expected the name of a file"),
    "save": (lambda: two().save(1), "path: got 1; expected the name of a file"),
    "save over": (lambda: two().save("old.toml", overwrite=1), "overwrite: got 1; expected true or false"),
    "draw": (lambda: two().draw([]), "path: got []; expected the name of a file"),
    "draw what": (
        lambda: two().draw("a.png", what=PAIR),
        "unknown picture array([1, 2]) (known: certificate, forces, plain, resting, velocities)",
    ),
    "draw caption": (lambda: two().draw("a.png", caption=3), "caption: got 3; expected true, false, or text"),
    "draw numbers": (lambda: two().draw("a.png", numbers=[1]), "numbers: got [1]; expected true or false"),
    "draw width": (
        lambda: two().draw("a.png", width=HUGE),
        "width: got a number beyond 1.8e308; expected a number from 1 to 30",
    ),
    "stability": (lambda: two().stability(exact=PAIR), "exact: got array([1, 2]); expected true or false"),
    "coordinates": (
        lambda: two().initial_collapse(coordinates=PAIR),
        "unknown coordinates array([1, 2]) (known: framework, reduced)",
    ),
    "bracing": (
        lambda: two().initial_collapse(bracing=PAIR),
        "unknown bracing array([1, 2]) (known: braced, minimal, overbraced)",
    ),
    "brick number": (
        lambda: two().brick_number(UNWRITABLE),
        "brick: got a whole number of about 5001 digits; expected a whole number from 0 to 1, or the name of a brick",
    ),
    "load force": (
        lambda: two().margin(load=(0, (math.inf, 0))),
        "load force: got (inf, 0); expected two finite numbers (x, y), at most 1e50 in size",
    ),
    "overhang": (lambda: largest_overhang(10**9), "n: got 1000000000; expected a whole number from 1 to 100"),
    "overhang progress": (
        lambda: largest_overhang(3, progress="x"),
        "progress: got x; expected a function of (steps done, steps in all, best overhang)",
    ),
}

ALL = {
    f"{kind}: {name}": case
    for kind, part in (("tower", TOWERS), ("number", NUMBERS), ("question", QUESTIONS))
    for name, case in part.items()
}


@pytest.mark.parametrize(("ask", "message"), ALL.values(), ids=ALL)
def test_one_message_and_no_file(ask, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("old.h5", "old.toml"):
        (tmp_path / name).write_bytes(b"old")
    began = time.process_time()
    with pytest.raises(ProblemError) as refused:
        ask()
    assert str(refused.value) == message
    assert time.process_time() - began < 10.0  # refused, not tried: a hang would take minutes
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"old.h5": b"old", "old.toml": b"old"}


@pytest.mark.parametrize(("pins", "message"), PINS.values(), ids=PINS)
def test_pins_are_checked_however_the_tower_is_made(pins, message):
    ways = (
        lambda: Tower.wall(1, 2, pins=pins),
        lambda: Tower.from_bricks([(0, 0.5, 1, 1), (1, 0.5, 1, 1)], pins=pins),
        lambda: two().with_(pins=pins),
    )
    for make in ways:
        with pytest.raises(ProblemError) as refused:
            make()
        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "brick: got nothing; expected at least one [[brick]] table, or kind = ... in [tower] [t.toml]"),
        (
            '[tower]\nkind = "wall"\nrows = 100000\ncolumns = 2\n',
            "tower.rows: got 100000; expected at most 100,000 bricks in all [t.toml, line 3]",
        ),
        (
            '[[brick]]\nx = "1e999999999"\ny = 1\nwidth = 1\nheight = 1\n',
            "brick[0].x: got '1e999999999'; expected a number with an exponent from -400 to 400 [t.toml, line 2]",
        ),
        (
            "[[brick]]\nx = 0\ny = 0.5\nwidth = 0\nheight = 1\n",
            "brick[0].width: got 0; expected a number above 0 [t.toml, line 4]",
        ),
    ],
)
def test_files_say_where(text, message, tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(text)
    with pytest.raises(ProblemError) as refused:
        load_tower(path)
    assert str(refused.value) == message


def test_pins_may_be_tuples_in_every_maker():
    """Two bricks of a wall side by side, hinged where they touch: the same pin in three spellings."""
    for pin in ((0, 1, (0, 1)), [np.int64(0), 1, ("0", Fraction(1))], Pin(0, 1, (0.0, 1.0))):
        assert Tower.wall(1, 2, pins=[pin]).pins == (Pin(0, 1, (0.0, 1.0)),)


def test_numbers_of_every_kind_are_the_same_number():
    given = (1, 1.0, "1", "10e-1", Fraction(1), np.float64(1), np.int64(1), np.array(1.0))
    assert {Tower.stack([x]).bricks[0].exact for x in given} == {Tower.stack([1]).bricks[0].exact}


def test_limits_belong_to_what_is_allowed():
    """Sides of 1e50 and 1e-50 have a mass and a moment of inertia that doubles hold: density times length^4."""
    for side in (1e50, 1e-50):
        tower = Tower.wall(1, 1, brick=(side, side))
        assert tower.inertia[0] == pytest.approx(side**4 / 6, rel=1e-12)
        assert tower.stability().stable


def test_a_margin_without_end_says_so():
    wall = Tower.wall(1, 1)
    assert wall.margin(shift=0).summary() == "brick 0 can move without limit along 1, 0"
    assert wall.margin(load=(0, (0, -1))).summary() == "the load on brick 0 at (0, 0.5) can grow without limit"
