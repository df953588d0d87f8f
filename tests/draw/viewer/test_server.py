"""The server of the viewer answers its own page, and no page of another site."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

pytest.importorskip("viser")

from carom.draw.viewer.server import address_of, close_server, open_server


@pytest.fixture(scope="module")
def server():
    made = open_server("127.0.0.1", 0, "test")
    yield made
    close_server(made)


def status(server, headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address_of(server), headers=headers), timeout=120) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("headers", [{"Host": "elsewhere.example"}, {"Origin": "http://elsewhere.example"}])
def test_other_sites_are_refused(server, headers):
    """The same check stands before its WebSocket, which is opened by the same kind of request."""
    assert status(server, headers) == 403


def test_its_own_page_is_served(server):
    assert status(server, {"Origin": address_of(server)}) == 200
