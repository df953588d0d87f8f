"""The server of the viewer answers its own page, and no page of another site."""

from __future__ import annotations

import contextlib
import socket
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


GARBAGE = (
    b"\x00\xff garbage\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    b"GET " + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" + b"\xff" * 40,
    b"",
)


def test_garbage_is_closed_without_a_word(server, capfd):
    """The library below reports such requests with a traceback each."""
    for data in GARBAGE:
        with socket.create_connection(("127.0.0.1", server.get_port()), timeout=10) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while client.recv(4096):
                    pass
    assert status(server, {}) == 200
    assert capfd.readouterr() == ("", "")


def test_its_own_page_is_served(server):
    assert status(server, {"Origin": address_of(server)}) == 200
