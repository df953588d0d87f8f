"""Films from pictures: H.264 in MP4, which plays everywhere, or GIF."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from ..errors import ProblemError
from ..files import atomic_path
from .colors import Bytes
from .gif import Gif

EXTRA = "pip install 'carom[render]'"
QUALITY = 18  # constant rate factor of x264: no visible loss


class Film(Protocol):
    """Takes pictures (height, width, 3), all of one size."""

    def add(self, picture: Bytes) -> None: ...


def ffmpeg() -> str:
    """Where ffmpeg is; one line that says how to get it if it is not there."""
    try:
        import imageio_ffmpeg
    except ImportError:
        missing = f"films as .mp4 need imageio-ffmpeg, which is not installed: {EXTRA}"
        raise ProblemError("--output", ".mp4", EXTRA, missing) from None
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        missing = f"imageio-ffmpeg has no ffmpeg for this machine: install ffmpeg, or {EXTRA} --force-reinstall"
        raise ProblemError("--output", ".mp4", EXTRA, missing) from None


def check_film(path: Path, size: tuple[int, int], fps: float) -> None:
    """Raises what would go wrong, before the first picture."""
    if path.suffix.lower() == ".mp4":
        if size[0] % 2 or size[1] % 2:
            raise ProblemError("--size", f"{size[0]}x{size[1]}", "even numbers: a film stores colors for 2 x 2 pixels")
        ffmpeg()
    elif fps > 50.0:
        raise ProblemError("--fps", fps, "at most 50 for a GIF: viewers show faster ones slowly")


@contextmanager
def film(path: Path, size: tuple[int, int], fps: float, samples: Callable[[], list[Bytes]]) -> Iterator[Film]:
    """A film that gets its name when the block ends; nothing of it stays if the block fails.

    `samples` gives a few of its pictures: a GIF has to know its colors in advance.
    """
    with atomic_path(path) as part:
        if path.suffix.lower() == ".mp4":
            with _mp4(part, size, fps) as out:
                yield out
        else:
            gif = Gif(samples(), fps)
            yield gif
            gif.write(part)


@contextmanager
def _mp4(path: Path, size: tuple[int, int], fps: float) -> Iterator[Film]:
    command = [
        *(ffmpeg(), "-hide_banner", "-loglevel", "error", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.12g}", "-i", "-"),
        # The colors of HD video, named in the file: else players guess, and wash them out.
        *("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"),
        *("-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
        *("-c:v", "libx264", "-preset", "medium", "-crf", str(QUALITY), "-pix_fmt", "yuv420p"),
        *("-movflags", "+faststart", "-an", str(path)),
    ]
    # A session of its own: Ctrl-C reaches this program alone, which then ends ffmpeg.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        yield _Pipe(process)
        _finish(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _finish(process: subprocess.Popen[bytes]) -> None:
    said = process.communicate()[1].decode(errors="replace")
    if process.returncode:
        raise _broken(said)


def _broken(said: str) -> ProblemError:
    text = " ".join(said.split())[-200:] or "no message"
    return ProblemError("--output", "film", "room on the disk", f"ffmpeg could not write the film: {text}")


class _Pipe:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def add(self, picture: Bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).data)
        except BrokenPipeError:
            said = self._process.stderr.read().decode(errors="replace") if self._process.stderr else ""
            raise _broken(said) from None
