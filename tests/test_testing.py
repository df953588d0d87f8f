"""carom.testing: honest laws pass, each kind of liar is caught, random problems are what they say."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import carom
from carom import catalogue, laws
from carom.laws import Law
from carom.laws.law import SMITH_2012
from carom.problem.contacts import Impulses
from carom.testing import KINDS, check_law, random_problem

ALL = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA"})


@dataclass(frozen=True)
class Mine(Law):
    """Generalized reflections, spoilt in one way."""

    name: ClassVar[str] = "mine"
    title: ClassVar[str] = "mine"
    paper: ClassVar = SMITH_2012
    claims: ClassVar[frozenset[str]] = ALL - {"WAV"}
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic",)

    def impulses(self, contacts):
        result = laws.make("gr").impulses(contacts)
        return Impulses(normal=self.spoil(result.normal, contacts), iterations=result.iterations)

    def spoil(self, lam, contacts):
        return lam


class Lossy(Mine):
    def spoil(self, lam, contacts):
        return lam * (1 - 1e-8)


class Sticky(Mine):
    def impulses(self, contacts):
        return laws.make("lcp").impulses(contacts)


class Pulling(Mine):
    def spoil(self, lam, contacts):
        return lam - 1e-9 * lam.max()


class Ordered(Mine):
    def impulses(self, contacts):
        return laws.make("gauss_seidel").impulses(contacts)


class Weak(Mine):
    def spoil(self, lam, contacts):
        return 0.4 * lam


class WrongShape(Mine):
    def spoil(self, lam, contacts):
        return lam[:1] if len(lam) > 1 else lam


class Infinite(Mine):
    def spoil(self, lam, contacts):
        return np.full_like(lam, np.inf)


class Moody(Mine):
    calls: ClassVar[list[int]] = []

    def spoil(self, lam, contacts):
        self.calls.append(1)
        return lam * (1 + 1e-15 * (len(self.calls) % 7))


def test_an_honest_law_passes_as_class_instance_and_name():
    check_law(Mine, examples=20)
    check_law(Mine(), examples=0)
    laws.register("mine_too", Mine)
    try:
        check_law("mine_too", examples=0)
        assert carom.solve_impact(catalogue.entry("cradle_3_1").problem, "mine_too").velocity[2] == pytest.approx(1)
    finally:
        del laws._LAWS["mine_too"]


@pytest.mark.parametrize(
    ("law", "claim"),
    [(Lossy, "KIN"), (Sticky, "BRK"), (Pulling, "ONE"), (Ordered, "SYM"), (Weak, "FEA"), (Weak, "KIN")],
)
def test_a_liar_is_caught(law, claim):
    with pytest.raises(AssertionError, match=f"mine claims {claim} but .* on "):
        check_law(law, examples=10)


def test_only_what_is_claimed_is_held_against_a_law():
    check_law(Ordered, claims=laws.make("gauss_seidel").claims, examples=10)
    check_law(Weak, claims=["MOM", "ONE"], examples=10)
    with pytest.raises(AssertionError, match="claims WAV"):
        check_law(Mine, claims=["WAV"], examples=0)
    with pytest.raises(AssertionError, match=r"claims SMP but depends on contact points .* on box_lifting, 4 and 9"):
        check_law(Mine, claims=["SMP"], examples=0)
    check_law(Sticky, claims=["SMP"], examples=0)


@pytest.mark.parametrize(
    ("law", "words"),
    [(Infinite, "not finite"), (Moody, "different impulses for the same problem")],
)
def test_what_no_law_may_do(law, words):
    with pytest.raises(AssertionError, match=words):
        check_law(law, claims=[], examples=5)


def test_impulses_of_the_wrong_shape():
    with pytest.raises((AssertionError, carom.ProblemError), match="shape"):
        check_law(WrongShape, claims=[], examples=0)


def test_problems_of_ones_own():
    check_law(Sticky, problems=[catalogue.entry("bernoulli")], examples=0)
    with pytest.raises(AssertionError, match="on cradle_5_1"):
        check_law(Sticky, problems=[catalogue.entry("cradle_5_1")], examples=0)
    check_law(Lossy, problems=[carom.ImpactProblem.chain([1, 1], [1, 0])], claims=["MOM", "ONE", "FEA"], examples=0)


def test_unknown_names_are_refused():
    with pytest.raises(carom.ProblemError, match="did you mean 'gr'"):
        check_law("grr")
    with pytest.raises(carom.ProblemError, match="unknown desideratum 'KINN': did you mean 'KIN'"):
        check_law(Mine, claims=["KINN"])
    with pytest.raises(carom.ProblemError, match="did you mean 'chain'"):
        random_problem(np.random.default_rng(0), "chian")


# -- random problems -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(KINDS))
def test_random_problems_approach_and_are_not_degenerate(kind):
    sizes = set()
    for k in range(30):
        problem = random_problem(np.random.default_rng(k), kind)
        sizes.add((problem.contact_count, problem.block))
        assert problem.separation_speed().min() < -1e-3
        assert (problem.restitution == 1).all()
        assert not catalogue.is_degenerate(problem)
    assert len(sizes) >= 2


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_random_problems_repeat_with_their_seed(kind):
    one, two = (random_problem(np.random.default_rng(4), kind) for _ in range(2))
    np.testing.assert_array_equal(one.velocity, two.velocity)
    np.testing.assert_array_equal(one.rows.val, two.rows.val)


@pytest.mark.long
def test_no_test_framework_is_needed():
    """With pytest and hypothesis out of reach the check still runs."""
    code = (
        "import sys; sys.modules['pytest'] = sys.modules['hypothesis'] = None\n"
        "import carom; carom.testing.check_law('none', examples=3); print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "fine", done.stderr
