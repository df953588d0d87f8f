"""Every scene of the library passes the checks that `carom check` applies to its run, residuals included."""

from __future__ import annotations

import pytest

import carom
from carom.analysis.checks import check_run
from carom.scenes import SCENES


@pytest.mark.long
@pytest.mark.parametrize("name", SCENES)
def test_run_of_the_small_scene_passes_its_checks(name):
    entry = SCENES[name]
    with carom.simulate(entry(**entry.small)) as run:
        failed = [c for c in check_run(run) if c.passed is False]
    assert not failed, "\n".join(f"{c.name}: {c.value:.3g} above {c.bound:.3g}; {c.note}" for c in failed)
