"""`carom.render`: what was asked of a picture, from Python."""

from __future__ import annotations

import numpy as np
import PIL.Image
import pytest

import carom
from carom import ProblemError
from carom.trajectory import Trajectory


def test_the_picture_is_that_of_the_command(render, ball, tmp_path):
    with Trajectory(ball) as run:
        made = carom.render(run, tmp_path / "a.png", at=1.0, size="320x180", trails=True)
    assert (made.size, made.pictures, made.outside) == ((320, 180), 1, 0)
    assert render(ball, "-o", tmp_path / "b.png", "--at", 1, "--size", "320x180", "--trails").code == 0
    own, others = (np.asarray(PIL.Image.open(tmp_path / name)) for name in ("a.png", "b.png"))
    assert (own == others).all()


def test_a_scene_is_run_under_the_law_and_remarks_are_told(tmp_path):
    scene, told, pictures = carom.scenes.three_ball_chain(va=0.0), [], []
    film = carom.render(
        scene,
        tmp_path / "a.gif",
        law="qce",
        size="160x90",
        fps=5,
        stop=1.0,
        progress=lambda *state: pictures.append(state),
        remark=told.append,
    )
    assert film.pictures == 6 and pictures == [(k, 6) for k in range(1, 7)]
    assert told == ["the film will run for 1 s; --speed 0.05 makes it about 20 s"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"at": "noon"}, ["--at", "noon", "a number"]),
        ({"at": True}, ["--at", "True", "a number"]),
        ({"size": (320, 180)}, ["--size", "text"]),
        ({"trails": 1}, ["--trails", "true or false"]),
        ({"trail": "3"}, ["--trail", "a list of texts"]),
        ({"law": "gr"}, ["law", "a run already"]),
    ],
)
def test_values_of_another_type_are_refused(ball, tmp_path, told, words):
    with Trajectory(ball) as run, pytest.raises(ProblemError) as refused:
        carom.render(run, tmp_path / "a.png", **told)
    assert all(word in str(refused.value) for word in words), refused.value
    assert not list(tmp_path.iterdir())


def test_what_is_neither_run_nor_scene_and_unknown_keywords_are_refused(tmp_path):
    with pytest.raises(ProblemError, match="a trajectory or a scene"):
        carom.render("pool_break", tmp_path / "a.png")
    with pytest.raises(TypeError, match="color_mpa"):
        carom.render(carom.scenes.butterfly(), tmp_path / "a.png", color_mpa="soft")
