"""Towers as TOML: exact round trips, and one clear message for each bad file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom import ProblemError
from carom.towers import Brick, Pin, Tower
from carom.towers.files import load_tower, parse, save_tower, tower_to_toml
from carom.towers.named import NAMED, PATTERNS, named_tower

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "towers").glob("*.toml"))
ONE = "[[brick]]\nx = 0\ny = 0.5\nwidth = 1\nheight = 1\n"


def same(a: Tower, b: Tower) -> bool:
    """To the last digit."""
    bricks = [[(k.exact, k.density, k.fixed, k.name) for k in tower.bricks] for tower in (a, b)]
    rest = [(t.pins, t.mass_model, t.gravity, t.floating, t.name) for t in (a, b)]
    return bricks[0] == bricks[1] and rest[0] == rest[1]


# ---- what is written is read back


NAMES = (*NAMED, "wall-4x5", "diamond-4", "harmonic-7", "stack-3")


@pytest.mark.parametrize("name", NAMES)
def test_named_towers_survive_exactly(name):
    tower = named_tower(name)
    again = parse(tower_to_toml(tower))
    assert same(tower, again) and tower_to_toml(again) == tower_to_toml(tower)


def test_a_maker_is_written_as_such_and_a_moved_brick_is_not():
    tower = Tower.harmonic(4, gravity=1.5, mass_model="corners", name="four")
    text = tower_to_toml(tower)
    assert 'kind = "harmonic"' in text and "[[brick]]" not in text
    moved = tower.moved(-1, "1/1000")
    text = tower_to_toml(moved)
    assert "kind" not in text and text.count("[[brick]]") == 5
    assert same(moved, parse(text)) and not same(tower, parse(text))


fractions = st.fractions(min_value=-3, max_value=3, max_denominator=97)
sizes = st.fractions(min_value=Fraction(1, 9), max_value=4, max_denominator=97)
floats = st.floats(min_value=-3.0, max_value=3.0, allow_subnormal=False)


@given(st.lists(st.tuples(fractions | floats, sizes, sizes, floats | st.just(0.0)), min_size=1, max_size=4), st.data())
def test_any_brick_survives_exactly(rows, data):
    """Fractions that no double holds, doubles, and turned rectangles with irrational corners."""
    bricks = []
    for k, (x, width, height, angle) in enumerate(rows):
        density = data.draw(sizes)
        bricks.append(Brick.rectangle(x, 20 * k + 8, width, height, angle, density=density, fixed=k % 2 == 0))
    tower = Tower.from_bricks(bricks, floating=True, gravity=data.draw(st.floats(0.0, 20.0)), name='a "name"\n\\ ü')
    text = tower_to_toml(tower)
    assert same(tower, parse(text))
    assert "corners" not in text, "a rectangle stays one, however it is turned"


def test_polygons_and_pins_survive(tmp_path):
    third = Fraction(1, 3)
    wedge = Brick.polygon([(0, 0), (1, 0), (third, 1)], density="7/3", name="wedge")
    tower = Tower.from_bricks([wedge, (3, 0.5, 1, 1)], pins=[(0, -1, (1 / 3, 0.1)), (0, 1, (2.0, 0.5))])
    save_tower(tower, tmp_path / "t.toml")
    again = load_tower(tmp_path / "t.toml")
    assert same(tower, again) and again.pins[0] == Pin(0, -1, (1 / 3, 0.1))
    assert '"ground"' in (tmp_path / "t.toml").read_text() and '"1/3"' in (tmp_path / "t.toml").read_text()


def test_doubles_stay_doubles_and_text_is_exact():
    ten = [parse(f"[[brick]]\nx = {x}\ny = 0.5\nwidth = 1\nheight = 1\n").bricks[0] for x in ("0.1", '"0.1"', '"1/10"')]
    middle = [sum(x for x, _ in b.exact) / 4 for b in ten]
    assert middle == [Fraction(0.1), Fraction(1, 10), Fraction(1, 10)]


def test_a_file_without_a_name_has_that_of_the_file(tmp_path):
    (tmp_path / "two words.toml").write_text(ONE)
    assert Tower.load(tmp_path / "two words.toml").name == "two words"


def test_makers_take_pins():
    tower = parse('[tower]\nkind = "stack"\noffsets = [0, 0]\n[[pin]]\nbricks = ["ground", 0]\nat = ["1/2", 0]\n')
    assert tower.pins == (Pin(0, -1, (0.5, 0.0)),)
    assert same(tower, parse(tower_to_toml(tower)))


# ---- examples and names


def test_examples_do_what_their_first_lines_say():
    found = {path.stem: bool(load_tower(path).stability()) for path in EXAMPLES}
    assert found == {"arch": True, "counterweight": True, "truss": True, "wall": False}
    assert load_tower(EXAMPLES[-1]).with_(bricks=Tower.wall(5, 5).bricks).stability(), "with gap = 0 the wall stands"


def test_there_are_examples_of_every_kind():
    texts = [path.read_text() for path in EXAMPLES]
    for word in ("kind =", "corners =", "[[pin]]", "fixed = true", "angle ="):
        assert any(word in text for text in texts), word


@pytest.mark.parametrize("name", NAMED)
def test_named_towers_do_what_their_line_says(name):
    stands = any(word in NAMED[name].line for word in ("stable", "balanced"))
    falls = any(word in NAMED[name].line for word in ("slide outward", "sags", "tips over"))
    assert stands != falls
    verdict = named_tower(name).stability()
    assert verdict.stable == stands and verdict.proven


def test_forms_take_numbers():
    assert named_tower("wall-3x4").count == 4 + 3 + 4
    assert named_tower("diamond-3").count == 9
    assert named_tower("harmonic-3").overhang() == pytest.approx((1 + 1 / 2 + 1 / 3) / 2, abs=1e-15)
    assert named_tower("stack-6").count == 6
    assert len(PATTERNS) == 4


def test_the_leaning_stack_is_told_rightly():
    """Up to a shift of 1/6 six bricks stand, as its documentation says; the five above then balance on an edge."""
    assert Tower.stack([Fraction(k, 6) for k in range(6)]).stability().stable
    assert not Tower.stack([Fraction(k, 6) * Fraction(1001, 1000) for k in range(6)]).stability().stable


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("archh", ("unknown tower 'archh'", "did you mean 'arch'?", "wall-RxC", ".toml")),
        ("wall-5", ("unknown tower", "wall-5x5")),
        ("wall-0x3", ("rows", "from 1 up")),
        ("wall-99999x99999", ("at most 10,000",)),
        ("stack-" + "9" * 5000, ("at most 10,000",)),
        ("", ("unknown tower",)),
    ],
)
def test_bad_names(name, words):
    with pytest.raises(ProblemError) as caught:
        named_tower(name)
    for word in words:
        assert word in str(caught.value)


# ---- bad files


WALL = '[tower]\nkind = "wall"\nrows = 2\ncolumns = 2\n'
TWO = ONE + "[[brick]]\nx = {x}\ny = {y}\nwidth = 1\nheight = 1\n"
BAD = [
    ("x =", "not valid TOML", "t.toml"),
    ("", "brick: got nothing", "kind", "[t.toml]"),
    ("[tower]\n", "at least one [[brick]]"),
    ("[towr]\nkind = 'wall'\n", "towr: no such field", "did you mean 'tower'?"),
    ("tower = 3", "tower", "[tower]"),
    ("brick = 3", "brick", "[[brick]]"),
    ("brick = [1]", "brick", "[[brick]]"),
    ('[tower]\nkind = "wal"', "unknown kind of tower 'wal'", "did you mean 'wall'?", "line 2"),
    ("[tower]\nkind = [1]", "unknown kind of tower [1]", "line 2"),
    ('[tower]\nkind = "wall"\nrows = 5', "tower.columns: got nothing", "line 1"),
    (WALL + "gapp = 1", "tower.gapp: no such field", "did you mean 'gap'?", "line 5"),
    (WALL + "gap = -1", "tower.gap: got -1", "0 or more", "line 5"),
    (WALL + 'gap = "a lot"', "tower.gap: got 'a lot'", "a finite number"),
    (WALL + "brick = 3", "tower.brick: got 3", "a list"),
    (WALL + "brick = [0, 1]", "brick width", "above 0"),
    (WALL + 'bond = "rnning"', "unknown bond 'rnning'", "did you mean 'running'?", "line 5"),
    ('[tower]\nkind = "wall"\nrows = "5"\ncolumns = 2', "tower.rows: got '5'", "whole number", "line 3"),
    ('[tower]\nkind = "stack"\noffsets = "012"', "tower.offsets", "a list", "line 3"),
    ('[tower]\nkind = "stack"\noffsets = [0, "a"]', "tower.offsets[1]", "line 3"),
    (WALL + ONE, "tower.kind", "either kind or [[brick]]", "line 2"),
    ("[[brick]]\nx = 1\n", "brick[0].y: got nothing", "line 1"),
    (ONE + "widht = 1", "brick[0].widht: no such field", "did you mean 'width'?", "line 6"),
    (ONE + "corners = []", "brick[0]", "no such field"),
    (ONE.replace("width = 1", "width = 0"), "brick[0].width: got 0", "above 0", "line 4"),
    (ONE.replace("x = 0", "x = true"), "brick[0].x: got True", "line 2"),
    (ONE.replace("x = 0", "x = nan"), "brick[0].x: got nan", "line 2"),
    (ONE.replace("x = 0", 'x = "1/0"'), "brick[0].x: got '1/0'", "line 2"),
    (ONE.replace("x = 0", "x = 1979-05-27"), "brick[0].x", "line 2"),
    (ONE + "angle = inf", "brick[0].angle", "line 6"),
    (ONE + "fixed = 1", "brick[0].fixed", "true or false", "line 6"),
    (ONE + "name = 1", "brick[0].name", "text", "line 6"),
    (ONE + "density = 0", "brick[0].density", "above 0", "line 6"),
    (ONE + 'shape = "disc"', "brick[0].shape", "rectangle", "line 6"),
    ("[[brick]]\ncorners = [[0, 0], [1, 0]]", "brick[0].corners", "three corners", "line 2"),
    ("[[brick]]\ncorners = 3", "brick[0].corners", "three corners", "line 2"),
    ("[[brick]]\ncorners = [[0, 0], [2, 0], [1, 0.1], [0, 2]]", "brick[0].corners", "convex", "line 2"),
    (TWO.format(x=0.5, y=0.5), "brick[1]: got an overlap of 0.5 with brick[0]", "line 6"),
    (TWO.format(x=0, y=2.5), "brick[1]: got floating in the air", "line 6"),
    (TWO.format(x=0, y=-2.5), "brick[1]", "above the ground"),
    (ONE + "[[pin]]\nat = [0, 0]", "pin[0].bricks: got nothing", "line 6"),
    (ONE + "[[pin]]\nbricks = [0, 1]\nat = [0, 0]", "pin[0].bricks: got 1", "ground", "line 7"),
    (ONE + '[[pin]]\nbricks = [0, "grund"]\nat = [0, 0]', "pin[0].bricks", "ground", "line 7"),
    (ONE + "[[pin]]\nbricks = [0, 0]\nat = [0, 0]", "pin[0].bricks", "two different", "line 7"),
    (ONE + "[[pin]]\nbricks = 0\nat = [0, 0]", "pin[0].bricks", "two bricks", "line 7"),
    (ONE + '[[pin]]\nbricks = [0, "ground"]\nat = [0]', "pin[0].at", "[x, y]", "line 8"),
    (ONE + '[[pin]]\nbricks = [0, "ground"]\nat = [0, "up"]', "pin[0].at", "line 8"),
    ('[tower]\nmass_model = "unifrom"\n' + ONE, "unknown mass_model 'unifrom'", "did you mean 'uniform'?", "line 2"),
    ("[tower]\nmass_model = 1\n" + ONE, "tower.mass_model", "text", "line 2"),
    ("[tower]\ngravity = -1\n" + ONE, "tower.gravity: got -1", "line 2"),
    ("[tower]\ngravity = [1]\n" + ONE, "tower.gravity", "line 2"),
    ('[tower]\nfloating = "no"\n' + ONE, "tower.floating", "true or false", "line 2"),
    ("[tower]\nrows = 3\n" + ONE, "tower.rows: no such field", "line 2"),
]


@pytest.mark.parametrize(("text", "words"), [(b[0], b[1:]) for b in BAD], ids=range(len(BAD)))
def test_a_bad_file_is_one_message_with_its_place(text, words):
    with pytest.raises(ProblemError) as caught:
        parse(text, "t.toml")
    message = str(caught.value)
    assert "\n" not in message and "t.toml" in message
    for word in words:
        assert word in message, message


def test_what_can_not_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.toml").mkdir()
    for name, word in (
        ("bytes.toml", "UTF-8"),
        ("folder.toml", "folder"),
        ("none.toml", "exists"),
        ("t.json", ".toml"),
    ):
        with pytest.raises(ProblemError, match=word):
            load_tower(tmp_path / name)


def test_saving_never_writes_over_unasked_and_leaves_no_parts(tmp_path):
    path = tmp_path / "t.toml"
    save_tower(Tower.stack([0]), path)
    before = path.read_text()
    for target in (path, tmp_path / "t.txt", tmp_path / "no" / "t.toml"):
        with pytest.raises(ProblemError):
            save_tower(Tower.stack([0, 0]), target)
    assert path.read_text() == before and [p.name for p in tmp_path.iterdir()] == ["t.toml"]
    Tower.stack([0, 0]).save(path, overwrite=True)
    assert load_tower(path).count == 2 and [p.name for p in tmp_path.iterdir()] == ["t.toml"]


def test_contacts_of_a_loaded_tower_are_the_same():
    tower = named_tower("arch")
    again = parse(tower_to_toml(tower))
    for a, b in zip(tower.contacts, again.contacts, strict=True):
        assert np.array_equal(a, b)
