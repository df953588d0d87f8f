"""Runs the tests in several processes, which are forked after one process has collected them: `--processes=2`.

To import the modules and to collect the tests takes a tenth of the time of all tests, and with processes that start
from nothing each of them does it. Here they take files of tests from one queue, in the order of collection, so that
what a file shares is made once, and send their reports to the first process, which prints them. Where processes cannot
be forked, one runs all. `--after=FILE` waits for a file before the first test: `make test` collects while kernels are
compiled.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from itertools import groupby
from multiprocessing import connection
from pathlib import Path

import pytest

CANNOT_FORK = ("win32", "darwin")  # the libraries of macOS do not survive it
NUMBER = 4  # bytes of the number of a file in the queue: a read from the pipe takes one


def pytest_addoption(parser):
    parser.addoption("--processes", type=int, default=1, metavar="N", help="number of processes that run tests")
    parser.addoption("--after", type=Path, metavar="FILE", help="start the first test when this file exists")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    option = session.config.option
    if option.collectonly or (session.testsfailed and not option.continue_on_collection_errors):
        return None
    while option.after and not option.after.exists():
        time.sleep(0.1)
    files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
    count = min(option.processes, len(files))
    if count < 2 or sys.platform in CANNOT_FORK or option.usepdb:
        return None
    session.config.pluginmanager.getplugin("terminalreporter").showfspath = False  # reports of files alternate
    queue, ending = os.pipe()
    for number in range(len(files)):
        os.write(ending, number.to_bytes(NUMBER, "big"))
    os.close(ending)
    running = [_fork(session, files, queue) for _ in range(count)]
    _receive(session, running, queue)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    return True


def _fork(session, files, queue):
    """Starts a process; returns the connection through which its reports come, and its id."""
    receiver, sender = connection.Pipe(duplex=False)
    process = os.fork()
    if process:
        sender.close()
        return receiver, process
    code = 1
    try:
        receiver.close()
        _run(session, files, queue, sender)
        code = 0
    finally:
        sender.close()
        os._exit(code)  # the rest of the session belongs to the first process


# ---- in a forked process


def _run(session, files, queue, sender):
    config = session.config
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Reporter(config, sender))
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of the first process
    capture.start_global_capturing()
    following = _next(files, queue)
    while following:
        items, following = following, _next(files, queue)
        for item, later in zip(items, [*items[1:], following[0] if following else None], strict=True):
            config.hook.pytest_runtest_protocol(item=item, nextitem=later)


def _next(files, queue):
    """The items of the next file, none at the end."""
    number = os.read(queue, NUMBER)
    return files[int.from_bytes(number, "big")] if number else []


class _Reporter:
    """Sends to the first process what happens in this one."""

    def __init__(self, config, sender):
        self.config, self.sender = config, sender

    def pytest_runtest_logstart(self, nodeid, location):
        self.sender.send(("start", nodeid, location))

    def pytest_runtest_logreport(self, report):
        self.sender.send(("report", self.config.hook.pytest_report_to_serializable(config=self.config, report=report)))

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        said = (str(warning_message.message), warning_message.category.__name__)
        self.sender.send(("warning", (*said, warning_message.filename, warning_message.lineno), when, nodeid, location))


# ---- in the first process


def _receive(session, running, queue):
    """Passes reports on until all processes have ended. A test in which one dies has failed."""
    last, open_ones = {}, dict(running)
    while open_ones:
        for receiver in connection.wait(list(open_ones)):
            try:
                what = receiver.recv()
            except EOFError:
                _, status = os.waitpid(open_ones.pop(receiver), 0)
                if status:
                    _report_death(session, last.get(receiver), status)
                continue
            if what[0] == "start":
                last[receiver] = what[1:]
            _pass_on(session.config, *what)
        if session.shouldfail or session.shouldstop:
            while os.read(queue, NUMBER):  # nothing is left to take
                pass


def _pass_on(config, kind, *what):
    if kind == "start":
        config.hook.pytest_runtest_logstart(nodeid=what[0], location=what[1])
    elif kind == "report":
        report = config.hook.pytest_report_from_serializable(config=config, data=what[0])
        config.hook.pytest_runtest_logreport(report=report)
    else:
        (message, name, file, line), when, nodeid, location = what
        warning = warnings.WarningMessage(message, type(name, (Warning,), {}), file, line)
        config.hook.pytest_warning_recorded.call_historic(
            kwargs={"warning_message": warning, "when": when, "nodeid": nodeid, "location": location}
        )


def _report_death(session, test, status):
    """Fails the test that a process ran last, and the session: other tests of its file have not run."""
    nodeid, location = test or ("", ("", None, ""))
    said = f"a process of the tests has died (status {status}) while it ran {nodeid or 'no test'}"
    report = pytest.TestReport(nodeid, location, {}, "failed", said, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
    session.shouldfail = said
