"""Atomic writing of files, and the folder of what is kept between runs."""

from __future__ import annotations

import sys

import pytest

from carom import ProblemError
from carom.files import atomic_path, user_cache, write_text


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "a.png"
    with atomic_path(target) as part:
        assert part.suffix == ".png" and part.parent == tmp_path
        part.write_bytes(b"whole")
        assert not target.exists()
    assert target.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_no_other(tmp_path, error):
    target = tmp_path / "a.json"
    write_text(target, "old")

    def fail():
        with atomic_path(target) as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_folders_are_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProblemError, match="a folder; expected a file name"):
        write_text(tmp_path / "folder", "text")
    with pytest.raises(ProblemError, match="a folder that exists"):
        write_text(tmp_path / "none" / "a.txt", "text")


def test_errors_of_the_system_name_the_target(tmp_path):
    with pytest.raises(OSError) as raised, atomic_path(tmp_path / "a.txt"):
        pass  # the block did not write its file
    assert raised.value.filename == str(tmp_path / "a.txt")


def test_text_is_utf8(tmp_path):
    write_text(tmp_path / "a.txt", "Größe\n")
    assert (tmp_path / "a.txt").read_bytes() == "Größe\n".encode()


@pytest.mark.parametrize(
    ("platform", "place"),
    [("linux", "home/.cache"), ("darwin", "home/Library/Caches"), ("win32", "home/AppData/Local")],
)
def test_kernels_and_grids_have_one_folder_which_one_variable_moves(monkeypatch, tmp_path, platform, place):
    from carom.geometry import distance_grid
    from carom.kernels import files

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("os.path.expanduser", lambda path: str(tmp_path / "home"))
    for name in ("CAROM_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert user_cache() == tmp_path / place / "carom"
    monkeypatch.setenv("CAROM_CACHE", str(tmp_path / "old"))  # the name that grids used to have
    assert user_cache() == tmp_path / place / "carom"
    monkeypatch.setenv("CAROM_CACHE_DIR", str(tmp_path / "own"))
    assert user_cache() == tmp_path / "own"
    assert distance_grid._file("key").is_relative_to(tmp_path / "own")
    assert files.cache_folder.__wrapped__() == tmp_path / "own" / "kernels"
