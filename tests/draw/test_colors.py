"""What colors tell: quantities of a run, their scales and their legends."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.draw.colors import (
    FIXED,
    MAPS,
    PALETTE,
    QUANTITIES,
    Coloring,
    colors,
    limits,
    quantity,
    ticks,
    usual_quantity,
)
from carom.draw.films import Look, Span, Studio
from carom.play.runs import Colors
from carom.scene import Bodies, Disc, Plane, Scene
from carom.scene.motion import FIXED as STILL


@pytest.fixture(scope="module")
def run():
    """Three discs in a row, one of them coming in at speed 2, and a fourth that nothing can push."""
    row = np.array([[-2.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    balls = Bodies(Disc(0.5), row, velocity=[[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]], name="balls")
    post = Bodies(Disc(0.5), np.array([[0.0, 5.0]]), motion=STILL, name="post")
    return carom.simulate(Scene("row", [balls, post], stepper="synchronous"), "gr", duration=1.0)


@pytest.fixture(scope="module")
def pile():
    """Three discs on top of each other at rest on the ground."""
    place = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 5.0]])
    scene = Scene("pile", [Bodies(Disc(1.0), place)], [Plane()], gravity=(0.0, -10.0))
    return carom.simulate(scene, "gr", duration=0.1)


def test_values_of_quantities(run):
    assert QUANTITIES["speed"].values(run, 0).tolist() == [2.0, 0.0, 0.0, 0.0]
    assert QUANTITIES["speed"].values(run, -1).tolist() == pytest.approx([0.0, 0.0, 2.0, 0.0])
    mass = run.geometry["mass"][0]
    assert QUANTITIES["energy"].values(run, 0) == pytest.approx([2.0 * mass, 0.0, 0.0, 0.0])
    assert QUANTITIES["energy"].values(run, 0).sum() == pytest.approx(run.kinetic[0])
    assert QUANTITIES["contacts"].values(run, 0).tolist() == [0.0, 1.0, 1.0, 0.0]
    assert QUANTITIES["group"].values(run, 0).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert QUANTITIES["body"].values(run, 0).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_depth_is_that_of_the_layers_at_rest(pile):
    for frame in (0, -1):
        assert QUANTITIES["depth"].values(pile, frame) == pytest.approx([4.0, 2.0, 0.0])
    # Each ball touches its neighbors, the lowest one the ground as well.
    assert QUANTITIES["contacts"].values(pile, 0).tolist() == [2.0, 2.0, 1.0]


def test_the_scale_is_one_for_all_frames_and_fixed_bodies_are_gray(run):
    coloring = Coloring.of(run)
    assert coloring.range == (0.0, 2.0)
    first, last = coloring.rgb(0), coloring.rgb(-1)
    assert first[0].tolist() == MAPS["soft"][-1].tolist() and last[2].tolist() == first[0].tolist()
    assert first[1].tolist() == MAPS["soft"][0].tolist()
    assert tuple(first[3].tolist()) == FIXED
    assert Coloring.of(run, "body").rgb(0)[:3].tolist() == PALETTE[:3].tolist()


def test_one_fast_body_does_not_take_the_colors_from_the_rest():
    velocity = np.zeros((400, 2))
    velocity[:, 0] = np.linspace(0.5, 1.0, 400)
    velocity[0, 0] = -1000.0
    place = np.stack([np.zeros(400), 3.0 * np.arange(400)], axis=1)
    run = carom.simulate(Scene("fast", [Bodies(Disc(1.0), place, velocity=velocity)]), "gr", duration=0.05)
    assert limits(run, QUANTITIES["speed"])[1] == pytest.approx(1.0, rel=0.01)


def test_films_viewer_and_play_page_have_one_default(run, pile):
    """Without gravity the speed; a pile has the color of its layers, because all its speeds are zero."""
    assert usual_quantity(run) == "speed" and usual_quantity(pile) == "depth"
    assert Coloring.of(pile).quantity.name == "depth" and Colors.of([pile]).quantity.name == "depth"
    assert Studio(pile, Look(size=(64, 64)), Span(0.0, 0.0)).coloring.quantity.name == "depth"


def test_what_rests_looks_at_rest(pile):
    # Speeds of 1e-10 are not spread over all colors.
    assert Coloring.of(pile, "speed").rgb(-1).tolist() == [MAPS["soft"][0].tolist()] * 3


def test_colors_of_values():
    shown = colors(np.array([-5.0, 0.0, 0.5, 1.0, 9.0, np.nan]), 0.0, 1.0, "viridis")
    assert shown[0].tolist() == shown[1].tolist() == [68, 1, 84]  # the ends of the published table
    assert shown[3].tolist() == shown[4].tolist() == [253, 231, 37]
    assert shown.dtype == np.uint8 and shown.shape == (6, 3)
    assert colors(np.array([3.0]), 3.0, 3.0).shape == (1, 3)  # a scale of no length is no error


@pytest.mark.parametrize("name", MAPS)
def test_maps_grow_lighter_all_the_way(name):
    light = MAPS[name] / 255.0
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    luminance = linear @ (0.2126, 0.7152, 0.0722)
    assert (np.diff(luminance) > -2e-3).all(), "color-blind eyes and printers see lightness alone"
    assert luminance[-1] - luminance[0] > 0.6


def test_legends(run):
    bar = Coloring.of(run).legend
    assert bar.title == "speed (length / time)" and bar.labels[0] in ("0", "0.0") and bar.places is not None
    assert all(0.0 <= p <= 1.0 for p in bar.places) and len(bar.labels) == len(bar.places) >= 3
    groups = Coloring.of(run, "group").legend
    assert groups.labels == ["balls", "post"] and groups.places is None
    assert tuple(groups.colors[1]) == FIXED == tuple(Coloring.of(run, "group").rgb(0)[-1])  # a post that nothing moves
    counts = Coloring.of(run, "contacts").legend
    assert all(label.isdigit() for label in counts.labels)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 93.0), (0.0, 2.3), (0.0, 7e-6), (0.0, 3e9), (-2.0, 5.0)])
def test_ticks_are_round_and_few(low, high):
    found = ticks(low, high)
    assert 3 <= len(found) <= 5 and low <= found[0] and found[-1] <= high * (1 + 1e-9)
    step = found[1] - found[0]
    mantissa = step / 10.0 ** np.floor(np.log10(step) + 1e-9)
    assert min(abs(mantissa - m) for m in (1.0, 2.0, 2.5, 5.0)) < 1e-6
    assert ticks(1.0, 1.0) == [1.0] and ticks(0.0, 3.0, whole=True) == [0.0, 1.0, 2.0, 3.0]


def test_unknown_names_are_refused_with_a_hint(run):
    with pytest.raises(carom.ProblemError, match="did you mean 'speed'"):
        quantity("sped")
    with pytest.raises(carom.ProblemError, match="cividis"):
        Coloring.of(run, "speed", "rainbow")
