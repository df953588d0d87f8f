"""`carom outcomes`."""

from __future__ import annotations

import json

import pytest

from carom import ImpactProblem


@pytest.fixture
def balls(tmp_path):
    path = tmp_path / "balls.json"
    ImpactProblem.chain([1.0, 1.0, 1.0], [0.5, 0.0, -1.0], name="three balls").save(path)
    return path


def test_the_table_says_how_much_is_open_and_where_the_laws_are(carom, balls):
    ended = carom("outcomes", balls, "--samples", "50")
    assert ended.code == 0
    assert "size 0.5000" in ended.out
    assert "gr            inside" in ended.out
    assert "jacobi        outside: breaks energy" in ended.out


def test_json_and_figure(carom, balls, tmp_path):
    picture = tmp_path / "set.svg"
    ended = carom("outcomes", balls, "--samples", "50", "--json", "-o", picture, "--components", "0,2")
    data = json.loads(ended.out)
    assert data["size"] == pytest.approx(0.5)
    assert len(data["corners"]) == 2
    text = picture.read_text()
    assert "velocity of body 2" in text
    assert "three balls" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--components", "0,9"), "from 0 to 2"),
        (("--components", "x"), "two numbers"),
        (("--laws", "grr"), "unknown law"),
    ],
)
def test_bad_input_gets_one_line(carom, balls, tmp_path, arguments, message):
    ended = carom("outcomes", balls, *arguments, "-o", tmp_path / "set.svg")
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_the_output_must_be_a_figure(carom, balls, tmp_path):
    ended = carom("outcomes", balls, "-o", tmp_path / "set.txt")
    assert ended.code == 2
    assert "png" in ended.err
