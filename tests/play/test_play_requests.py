"""Requests to the play page: bad ones get one clear message, runs can be followed and stopped."""

from __future__ import annotations

import base64
import threading
import time

import numpy as np
import pytest

from carom.errors import ProblemError
from carom.play.api import Api
from carom.play.jobs import RESULTS_KEPT, WAITING, Jobs
from carom.scenes import newtons_cradle
from carom.simulation import simulate


@pytest.fixture(scope="module")
def api():
    made = Api()
    yield made
    made.close()


PATIENCE = 600.0  # seconds: a bound for jobs that hang, not for slow machines


def wait_for(*jobs):
    end = time.monotonic() + PATIENCE
    for job in jobs:
        while not job.over:
            assert time.monotonic() < end, job.to_dict()
            time.sleep(0.01)


def finished(api, number):
    wait_for(api.jobs.job(number))
    return api.jobs.job(number)


CRADLE = {"scene": "cradle", "laws": ["gr"]}
BAD = [
    ({}, "unknown lesson None"),
    ({**CRADLE, "scene": "cradel"}, "did you mean 'cradle'"),
    ({**CRADLE, "scene": ["cradle"]}, "unknown lesson"),
    ({**CRADLE, "laws": []}, "one to 3 names"),
    ({**CRADLE, "laws": "gr"}, "one to 3 names"),
    ({**CRADLE, "laws": ["gr", "lcp", "qce", "lzb"]}, "one to 3 names"),
    ({**CRADLE, "laws": ["gr", "gr"]}, "different laws"),
    ({**CRADLE, "laws": ["grr"]}, "did you mean 'gr'"),
    ({**CRADLE, "laws": [["gr"]]}, "unknown law"),
    ({**CRADLE, "parameters": []}, "an object"),
    ({**CRADLE, "parameters": {"weight": 1}}, "unknown parameter 'weight'"),
    ({**CRADLE, "parameters": {"restitution": 1.5}}, "a number from 0 to 1"),
    ({**CRADLE, "parameters": {"restitution": "1"}}, "a number from 0 to 1"),
    ({**CRADLE, "parameters": {"restitution": True}}, "a number from 0 to 1"),
    ({**CRADLE, "parameters": {"restitution": float("nan")}}, "a number from 0 to 1"),
    ({**CRADLE, "parameters": {"balls": 1e9}}, "a whole number from 2 to 9"),
    ({**CRADLE, "parameters": {"balls": 3.5}}, "a whole number from 2 to 9"),
    ({**CRADLE, "parameters": {"balls": 3, "striking": 3}}, "less than balls = 3"),
]


@pytest.mark.parametrize(("request_", "message"), BAD, ids=[m for _, m in BAD])
def test_a_bad_request_gets_one_clear_message(api, request_, message):
    with pytest.raises(ProblemError) as refusal:
        api.impact(request_)
    assert message in str(refusal.value)


def test_a_run_beyond_the_bounds_is_refused_before_it_starts(api, monkeypatch):
    with pytest.raises(ProblemError, match="from 2 to 12"):
        api.run({"scene": "granular_wave_2d", "laws": ["gr"], "parameters": {"columns": 20, "rows": 100}})
    monkeypatch.setattr("carom.play.runs.BODIES", 10)
    with pytest.raises(ProblemError, match="at most 10 on the page"):
        api.run({"scene": "gas", "laws": ["gr"]})
    monkeypatch.setattr("carom.play.runs.STEPS", 100)
    with pytest.raises(ProblemError, match="at most 100 steps"):
        api.run({"scene": "bernoulli", "laws": ["gr"]})
    with pytest.raises(ProblemError, match="carom view"):
        api.run({"scene": "trefoil_drop", "laws": ["gr"]})
    with pytest.raises(ProblemError, match="unknown scene"):
        api.run({"scene": "../../etc/passwd", "laws": ["gr"]})


def test_a_run_gives_the_frames_of_simulate(api):
    parameters = {"restitution": 0.5, "duration": 2.0}
    job = api.run({"scene": "newtons_cradle", "laws": ["gr", "lcp"], "parameters": parameters})
    done = finished(api, job["id"])
    assert done.state == "done", done.error
    gr, lcp = done.result["results"]
    with simulate(newtons_cradle(restitution=0.5), "gr", 2.0) as run:
        last = run.frame(-1).position
    frames = np.frombuffer(base64.b64decode(gr["position"]), "<f4").reshape(len(gr["time"]), 5, 2)
    np.testing.assert_allclose(frames[-1], last, atol=1e-6)  # single precision, on lengths of about 5
    assert gr["time"][-1] == pytest.approx(2.0) and gr["kinetic"][-1] < gr["kinetic"][0]
    assert gr["position"] != lcp["position"]
    assert {t["name"] for t in gr["ticks"]} >= {"energy", "momentum", "symmetry"}
    assert all(t["passed"] is not False for t in gr["ticks"])


def test_a_run_in_space_has_shapes_and_a_camera(api):
    parameters = {"boxes": 2, "duration": 1.0}
    job = api.run({"scene": "box_tower_3d", "laws": ["gr"], "parameters": parameters})
    picture = finished(api, job["id"]).result["picture"]
    (box,) = picture["meshes"]
    assert len(box["triangles"]) == 12 * 9  # six faces of two triangles
    corners = np.reshape(box["triangles"], (-1, 3, 3))
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((outward * corners.mean(axis=1)).sum(axis=1) > 0).all()
    assert picture["mesh"] == [0, 0] and len(picture["floors"]) == 1


# ---- jobs


def test_a_job_can_be_stopped():
    jobs, began = Jobs(), threading.Event()

    def endless(tell):
        began.set()
        while True:
            tell("still going", 0.5)
            time.sleep(0.01)

    job = jobs.add(endless)
    assert began.wait(PATIENCE) and job.to_dict()["text"] == "still going"
    waiting = jobs.add(endless)
    jobs.stop(waiting.number)
    jobs.stop(job.number)
    for each in (job, waiting):
        wait_for(each)
        assert each.state == "stopped" and each.result is None


def test_a_job_that_takes_too_long_ends_with_advice(monkeypatch):
    monkeypatch.setattr("carom.play.jobs.LIMIT", 0.05)
    jobs = Jobs()

    def slow(tell):
        while True:
            tell("slow", 0.1)
            time.sleep(0.01)

    job = jobs.add(slow)
    wait_for(job)
    assert job.state == "failed" and "larger step" in job.error


def test_jobs_are_bounded_in_number():
    jobs, go_on = Jobs(), threading.Event()
    made = [jobs.add(lambda _: go_on.wait(PATIENCE) and {}) for _ in range(1 + WAITING)]
    with pytest.raises(ProblemError, match="too many"):
        jobs.add(lambda _: {})
    go_on.set()
    wait_for(*made)
    for _ in range(RESULTS_KEPT + 2):
        wait_for(jobs.add(lambda _: {"kind": "run"}))
    jobs.add(lambda _: {})
    with pytest.raises(ProblemError, match="still keeps"):
        jobs.job(made[0].number)


def test_an_error_in_a_job_is_told_and_the_next_one_runs(capsys):
    jobs = Jobs()
    broken, good = jobs.add(lambda _: {}["missing"]), jobs.add(lambda _: {"kind": "run"})
    wait_for(good)
    assert broken.state == "failed" and "KeyError" in broken.error
    assert good.state == "done"
    capsys.readouterr()  # the traceback, which belongs in the terminal
