"""`carom demo`."""

from __future__ import annotations

import struct

import pytest

from carom import laws, scenes

RACK = scenes.pool_break


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.long)])
def test_table_and_picture(carom, tmp_path, monkeypatch, columns):
    """The rack is smaller than that of the demo; the figure of its break is drawn by test_comparison_figure.py."""
    monkeypatch.setattr(scenes, "pool_break", lambda rows: RACK(rows=rows - 7))
    monkeypatch.setattr("carom.draw.comparison_figure.draw", lambda runs, output, stem, *_: [output / f"{stem}.png"])
    ended = carom("demo", "-o", tmp_path / "pictures", columns=columns)
    assert ended.code == 0, ended.err
    for name in laws.names():
        assert name in ended.out
    assert max(map(len, ended.out.splitlines())) <= columns
    head = (tmp_path / "pictures" / "newtons_cradle.png").read_bytes()[:24]
    assert struct.unpack(">II", head[16:24]) == (1920, 1080)
