"""Free rotation: what both integrators must keep, against closed forms and an integration of high order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from carom.geometry import rotations
from carom.geometry.vectors import Vec3
from carom.kernels import kernel
from carom.stepping.rotation import MOSER_VESELOV, SPLIT, rotate_body_steadily, rotate_free, stochastic_sum, sum3

ASYMMETRIC = np.array([1.0, 2.0, 2.7])
SCHEMES = pytest.mark.parametrize("scheme", [MOSER_VESELOV, SPLIT], ids=["moser_veselov", "split"])


@kernel
def frames(orientation, spin, inertia, step, count, every, scheme):
    """Orientations (k, n, 4) and spins (k, n, 3), at the start and after each `every` of `count` steps."""
    n = len(spin)
    q, w = np.empty((count // every + 1, n, 4)), np.empty((count // every + 1, n, 3))
    free = np.ones(n, np.bool_)
    q[0], w[0] = orientation, spin
    for k in range(1, count + 1):
        orientation, spin = rotate_free(orientation, spin, inertia, free, step, scheme)
        if k % every == 0:
            q[k // every], w[k // every] = orientation, spin
    return q, w


def bodies(*spins, inertia=ASYMMETRIC, seed=0):
    """Random orientations, the given spins, and moments: as many bodies as spins."""
    q = np.random.default_rng(seed).normal(size=(len(spins), 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return q, np.array(spins, dtype=np.float64), np.broadcast_to(inertia, (len(spins), 3)).copy()


def step_once(q, w, inertia, h, scheme=MOSER_VESELOV):
    return rotate_free(q, w, inertia, np.ones(len(q), np.bool_), h, scheme)


def energies(w, inertia):
    return 0.5 * (inertia * w**2).sum(axis=-1)


def momenta(q, w, inertia):
    """Angular momentum in the world's frame."""
    body = (inertia * w).reshape(-1, 3)
    return rotations.turned(np.ascontiguousarray(q.reshape(-1, 4)), body).reshape(w.shape)


def drifts(q, w, inertia):
    """Largest relative drift of energy and of angular momentum, for each body."""
    energy, momentum = energies(w, inertia), momenta(q, w, inertia)
    size = np.linalg.norm(momentum[0], axis=-1)
    return np.abs(energy / energy[0] - 1).max(axis=0), (np.linalg.norm(momentum - momentum[0], axis=-1) / size).max(0)


def angles_between(p, q):
    """Radians of the turn from p to q."""
    return 2 * np.minimum(np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1))


def reference(q, w, inertia, time):
    """Euler's equations and `q' = q w / 2` for one body, order 8 with relative error 1e-13 a step."""

    def rate(_, state):
        a, v, s = state[0], state[1:4], state[4:]
        turning = 0.5 * np.concatenate([[-v @ s], a * s + np.cross(v, s)])
        return np.concatenate([turning, np.cross(inertia * s, s) / inertia])

    end = solve_ivp(rate, (0, time), np.concatenate([q, w]), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return end[:4], end[4:]


# Spins of all kinds: tumbling, near the unstable axis, near stable ones; slow ones show what rounding adds up to.
TUMBLES = ([1.0, 0.7, -0.4], [1e-6, 1.0, 1e-6], [1e-4, 1.3, 1e-7], [3.0, 1e-5, 0.1], [0.1, 0.2, 3.0])


MILLION = [pytest.param(step, 1_000_000, marks=pytest.mark.long) for step in (0.1, 1e-3, 1e-6)]


@pytest.mark.parametrize(("step", "count"), [(0.1, 100_000), *MILLION])
def test_many_steps_keep_energy_momentum_and_length(step, count):
    """Each step rounds by about 1e-16, a random walk of 1e6 steps adds up to 1e-13; any bias would reach 1e-10."""
    q, w, inertia = bodies(*TUMBLES)
    q, w = frames(q, w, inertia, step, count, 1000, MOSER_VESELOV)
    energy, momentum = drifts(q, w, inertia)
    assert energy.max() <= 1e-12
    assert momentum.max() <= 1e-12
    turned = rotations.matrices(np.ascontiguousarray(q[-1]))
    assert np.abs(turned @ turned.transpose(0, 2, 1) - np.eye(3)).max() <= 1e-12
    assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() <= 1e-15


def test_a_step_solves_the_equation_of_moser_and_veselov():
    """`F J - J F^T = hat(s P)` and `P+ = F^T P`, with s = sin(x) / x h, x = 2 h E / |P| for the step."""
    _, w, inertia = bodies([1.0, 0.7, -0.4])
    h, momentum = 0.2, ASYMMETRIC * w[0]
    q, after = step_once(np.array([[1.0, 0.0, 0.0, 0.0]]), w, inertia, h)
    turn, j = rotations.matrices(q)[0], np.diag(ASYMMETRIC.sum() / 2 - ASYMMETRIC)
    skew = turn @ j - j @ turn.T
    x = 2 * h * energies(w[0], ASYMMETRIC) / np.linalg.norm(momentum)
    axial = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
    assert axial == pytest.approx(np.sin(x) / x * h * momentum, abs=1e-15)
    assert ASYMMETRIC * after[0] == pytest.approx(turn.T @ momentum, abs=1e-15)


def test_the_split_scheme_keeps_momentum_and_its_energy_error_is_bounded_and_of_second_order():
    q, w, inertia = bodies([1.0, 0.7, -0.4])
    errors = []
    for step in (0.1, 0.05):
        trail = frames(q, w, inertia, step, 200_000, 1, SPLIT)
        energy, momentum = drifts(*trail, inertia)
        early, _ = drifts(trail[0][:2000], trail[1][:2000], inertia)
        assert momentum.max() <= 1e-12
        assert energy[0] <= 1.05 * early[0]  # all of the error is there in the first percent of the run
        errors.append(energy[0])
    assert errors[0] > 1e-4  # where Moser-Veselov has rounding
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.2)


@SCHEMES
def test_both_schemes_are_of_second_order(scheme):
    q, w, inertia = bodies([1.0, 0.7, -0.4])
    exact_q, exact_w = reference(q[0], w[0], ASYMMETRIC, 10.0)
    turn_error, spin_error = [], []
    for count in (200, 400, 800):
        end_q, end_w = (x[-1, 0] for x in frames(q, w, inertia, 10.0 / count, count, count, scheme))
        turn_error.append(angles_between(end_q, exact_q))
        spin_error.append(np.linalg.norm(end_w - exact_w))
    for error in (turn_error, spin_error):
        ratios = np.array(error[:-1]) / np.array(error[1:])
        assert ratios == pytest.approx([4.0, 4.0], abs=0.1)
        assert error[-1] < 1e-3


@SCHEMES
def test_a_run_backwards_returns_to_its_start(scheme):
    """One step and its inverse differ by rounding, 1e-16 each; the tumbling spreads errors in proportion to time."""
    q, w, inertia = bodies(*TUMBLES[:1])
    there = frames(q, w, inertia, 0.01, 10_000, 10_000, scheme)
    back = frames(there[0][-1], -there[1][-1], inertia, 0.01, 10_000, 10_000, scheme)
    assert np.abs(back[1][-1] + w).max() <= 1e-11
    assert angles_between(back[0][-1], q).max() <= 1e-11
    assert angles_between(there[0][-1], q).max() > 0.1


def flip(w, inertia):
    """Closed form for `|P|^2 > 2 E I_2`: rate and modulus m of the Jacobi functions, and the period of the spin."""
    i1, i2, i3 = inertia
    twice, square = float(inertia @ w**2), float(((inertia * w) ** 2).sum())
    rate = np.sqrt((i3 - i2) * (square - twice * i1) / (i1 * i2 * i3))
    m = (i2 - i1) * (twice * i3 - square) / ((i3 - i2) * (square - twice * i1))
    return rate, m, 4 * ellipk(m) / rate


def test_the_flip_of_the_middle_axis_follows_the_elliptic_functions():
    """Start on the equator of w_2 = 0, where the closed form is `w_1 cn, w_2 sn, w_3 dn`; three whole periods."""
    start = np.array([0.9, 0.0, 0.66])
    rate, m, period = flip(start, ASYMMETRIC)
    assert 0.9 < m < 1.0  # near the separatrix: long stays near the middle axis, quick flips
    i1, i2, i3 = ASYMMETRIC
    size = start[0] * np.sqrt(i1 * (i3 - i1) / (i2 * (i3 - i2)))
    errors = []
    for count in (3000, 6000):
        h = 3 * period / count
        _, w = frames(*bodies(start), h, count, 1, MOSER_VESELOV)
        sn, cn, dn, _ = ellipj(rate * h * np.arange(count + 1), m)
        exact = np.stack([start[0] * cn, size * sn, start[2] * dn], axis=1)
        errors.append(np.abs(w[:, 0] - exact).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.2)
    assert errors[1] < 1e-3  # of a spin of 1, after three periods


def test_the_period_of_the_dzhanibekov_flip():
    """A nudge of 1e-3 off the middle axis, ten flips: two of them take a period of the elliptic functions."""
    start = np.array([1e-3, 1.0, 2e-3])
    _, _, period = flip(start, ASYMMETRIC)
    measured = []
    for h in (0.02, 0.01):
        _, w = frames(*bodies(start), h, int(5.6 * period / h), 1, MOSER_VESELOV)
        middle = w[:, 0, 1]
        before = np.flatnonzero(middle[:-1] * middle[1:] < 0)
        crossing = h * (before + middle[before] / (middle[before] - middle[before + 1]))
        assert len(crossing) >= 11
        measured.append((crossing[10] - crossing[0]) / 5)
    wrong = np.abs(np.array(measured) / period - 1)
    assert wrong[1] < 1e-4
    assert wrong[0] / wrong[1] == pytest.approx(4.0, abs=0.4)


@SCHEMES
def test_a_symmetric_top_precesses_as_its_closed_form(scheme):
    """`q(t) = exp(t L / 2 I_1) q exp(t (1 - I_3 / I_1) w_3 e_3 / 2)`: a turn about L, and one about the own axis."""
    inertia = np.array([1.3, 1.3, 0.4])
    q, w, moments = bodies([0.5, -0.3, 4.0], inertia=inertia)
    time, error = 20.0, []
    outer = time * momenta(q, w, moments) / inertia[0]
    own = time * (1 - inertia[2] / inertia[0]) * w[:, 2:] * np.array([[0.0, 0.0, 1.0]])
    exact = rotations.product(rotations.product(rotations.of_vector(outer), q), rotations.of_vector(own))
    for count in (4000, 8000):
        end, spin = frames(q, w, moments, time / count, count, count, scheme)
        assert spin[-1, 0, 2] == pytest.approx(4.0, rel=1e-12 if scheme == MOSER_VESELOV else 1e-5)
        error.append(angles_between(end[-1], exact)[0])
    assert error[1] < 1e-3
    assert error[0] / error[1] == pytest.approx(4.0, abs=0.1)


@pytest.mark.covering
@pytest.mark.parametrize("axis", [0, 1, 2])
@SCHEMES
def test_steady_spin_about_a_principal_axis_is_exact(axis, scheme):
    w = np.zeros(3)
    w[axis] = 1.7
    q, spin, inertia = bodies(w)
    end, after = frames(q, spin, inertia, 0.25, 1000, 1000, scheme)
    assert (after[-1] == spin).all()
    exact = rotations.product(q, rotations.of_vector(250.0 * spin))
    assert angles_between(end[-1], exact).max() <= 1e-12  # 1,000 steps of 1e-15


@SCHEMES
def test_spheres_turn_exactly_and_keep_the_bits_of_their_spin(scheme):
    rng = np.random.default_rng(3)
    for size in (1e-3, 1.0, 30.0):  # series, and beyond it sine and cosine
        q, w, inertia = bodies(*(size * rng.normal(size=(20, 3))), inertia=np.full(3, 0.4))
        end, after = frames(q, w, inertia, 0.1, 1000, 1000, scheme)
        assert (after[-1] == w).all()
        exact = rotations.product(q, rotations.of_vector(100.0 * w))
        assert angles_between(end[-1], exact).max() <= 1e-12 * max(1.0, size)


def test_a_nearly_round_body_turns_nearly_as_a_sphere():
    q, w, _ = bodies([0.3, -2.0, 1.1])
    nearly = np.array([[1.0, 1.0 + 1e-13, 1.0 - 1e-13]])
    round_q, round_w = frames(q, w, np.ones((1, 3)), 0.1, 1000, 1000, MOSER_VESELOV)
    end, after = frames(q, w, nearly, 0.1, 1000, 1000, MOSER_VESELOV)
    assert np.abs(after[-1] - round_w[-1]).max() <= 1e-10
    assert angles_between(end[-1], round_q[-1]).max() <= 1e-10


@SCHEMES
def test_bodies_at_rest_and_steps_of_no_time_change_nothing(scheme):
    q, w, inertia = bodies([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    end, after = step_once(q, w, inertia, 0.1, scheme)
    assert (end[0] == q[0]).all() and (after[0] == w[0]).all()
    assert not (end[1] == q[1]).any()
    end, after = step_once(q, w, inertia, 0.0, scheme)
    assert (end == q).all() and (after == w).all()


def steadily(orientation, spin, step):
    """Orientations after rotation at constant spins."""
    out = orientation.copy()
    for q, w in zip(out, spin):
        rotate_body_steadily(q, w, step)
    return out


def test_bodies_that_are_not_free_turn_at_their_given_spin():
    q, w, inertia = bodies([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    end, after = rotate_free(q, w, inertia, np.array([False, True]), 0.1, MOSER_VESELOV)
    assert (after[0] == w[0]).all() and (after[1] != w[1]).all()
    assert (end[0] == steadily(q, w, 0.1)[0]).all()


def test_turning_by_a_constant_spin():
    rng = np.random.default_rng(5)
    q, w, _ = bodies(*rng.normal(size=(50, 3)))
    w[0] = 0.0
    end = steadily(q, w, 0.7)
    assert (end[0] == q[0]).all()
    assert angles_between(end, rotations.product(q, rotations.of_vector(0.7 * w))).max() <= 2e-15


@pytest.mark.parametrize("inertia", [(1.0, 2.0, 2.7), (1.0, 1.0, 2.0), (1e-6, 1.0, 1.0), (1e-3, 1.0, 1.001)])
def test_fast_spins_take_sub_steps(inertia):
    """Up to hundreds of radians a step, for plates and needles too; each sub-step rounds once."""
    rng = np.random.default_rng(7)
    q, w, moments = bodies(*(10.0 ** rng.uniform(0, 4, (40, 1)) * rng.normal(size=(40, 3))), inertia=np.array(inertia))
    end, after = step_once(q, w, moments, 0.02)
    energy, momentum = drifts(np.stack([q, end]), np.stack([w, after]), moments)
    assert energy.max() <= 1e-12 and momentum.max() <= 1e-12
    assert np.abs(np.linalg.norm(end, axis=1) - 1).max() <= 1e-15


@pytest.mark.parametrize("size", [1e-300, 1e-20, 1e9, 1e100])
def test_absurd_spins_end_and_stay_numbers(size):
    q, w, inertia = bodies([size, 0.5 * size, -0.3 * size])
    end, after = step_once(q, w, inertia, 0.01)
    assert np.isfinite(end).all()
    assert np.linalg.norm(after / size) == pytest.approx(1.1, rel=0.5)


SIGNED = [
    np.eye(3)[list(order)] * signs
    for order in itertools.permutations(range(3))
    for signs in itertools.product((1.0, -1.0), repeat=3)
]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 0.1, 1.0]))
def test_the_48_symmetries_of_the_axes_hold_bit_for_bit(seed, step):
    """Spins and the vector parts of quaternions are axial: a mirror turns them by its proper part."""
    rng = np.random.default_rng(seed)
    moments = rng.uniform(1.0, 1.9, 3)
    q, w, inertia = bodies(rng.normal(size=3), inertia=moments, seed=seed)
    images = [(s, np.round(np.linalg.det(s)) * s) for s in SIGNED]
    q = np.concatenate([np.concatenate([q[:, :1], q[:, 1:] @ axial.T], axis=1) for _, axial in images])
    w = np.concatenate([w @ axial.T for _, axial in images])
    inertia = np.concatenate([inertia @ np.abs(s).T for s, _ in images])
    for _ in range(20):
        q, w = step_once(q, w, inertia, step)
    for k, (_, axial) in enumerate(images):
        assert (w[k] == axial @ w[0]).all()
        assert (q[k, 1:] == axial @ q[0, 1:]).all() and q[k, 0] == q[0, 0]


def test_a_turned_world_turns_the_motion():
    q, w, inertia = bodies([1.0, 0.7, -0.4])
    turn = rotations.of_vector(np.array([[0.3, -1.0, 2.0]]))
    end, after = frames(q, w, inertia, 0.05, 1000, 1000, MOSER_VESELOV)
    other, spin = frames(rotations.product(turn, q), w, inertia, 0.05, 1000, 1000, MOSER_VESELOV)
    assert (spin == after).all()  # the body does not know where it points
    assert angles_between(other[-1], rotations.product(turn, end[-1])).max() <= 1e-13


def test_the_splitting_prefers_an_axis():
    """What Moser-Veselov is spared: renamed axes give another motion."""
    q, w, inertia = bodies([1.0, 0.7, -0.4])
    _, plain = step_once(q, w, inertia, 0.1, SPLIT)
    _, renamed = step_once(q, w[:, [1, 2, 0]].copy(), inertia[:, [1, 2, 0]].copy(), 0.1, SPLIT)
    assert np.abs(renamed - plain[:, [1, 2, 0]]).max() > 1e-5


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
def test_a_sum_of_three_has_no_order(terms):
    sums = {sum3(Vec3(*order)) for order in itertools.permutations(terms)}
    assert len(sums) == 1
    assert sums == {-sum3(-Vec3(*terms))}
    assert sums.pop() == pytest.approx(sum(terms), abs=1e-12)


def test_stochastic_sums_are_right_on_average():
    """A thousandth of a digit a step, a million times: rounding to nearest would stay where it is."""
    x, change = 1.0, 1e-3 * 2.0**-52
    walk = _walked(x, change, 1_000_000)
    assert x + change == x
    assert (walk - x) / 2.0**-52 == pytest.approx(1000, abs=160)  # five standard deviations of sqrt(1000)
    assert _walked(-x, -change, 1_000_000) == -walk
    assert stochastic_sum(0.25, 0.0) == 0.25


@kernel
def _walked(x, change, count):
    for k in range(count):
        x = stochastic_sum(x, change * (1.0 + 1e-9 * k))
    return x
