from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Grids go to a folder of the test, which it may damage, and none comes from the memory of another test."""
    from carom.geometry import distance_grid, shapes

    monkeypatch.setattr(distance_grid, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(distance_grid, "_grids", {})
    monkeypatch.setitem(shapes._kept, "mesh", {})
    return tmp_path / "cache"
