"""Encoding of films: H.264 in MP4 through ffmpeg, or GIF with one palette."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..files import atomic_path
from .colors import Bytes

EXTRA = "pip install '.[render]' in a clone of Carom, or pip install imageio-ffmpeg"
QUALITY = 18  # constant rate factor of x264: no visible loss
GIF_RATE = 50.0  # pictures per second; viewers slow down faster GIFs

COLORS = 256  # of a GIF
SHADES = 3_000  # number of colors in the samples from which pictures count as shaded and are dithered
COARSE = 3  # low bits of each channel that are ignored when colors are counted
# Ordered dithering (Bayer, 1973) hides the steps between the colors of a palette and does not change with time.
PATTERN = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16.0 - 15.0 / 32.0
STRENGTH = 7.0  # amplitude of that pattern, in levels of a channel


def ffmpeg() -> str:
    """The path of ffmpeg; the error says how to install it."""
    try:
        import imageio_ffmpeg
    except ImportError:
        missing = f"films as .mp4 need imageio-ffmpeg, which is not installed: {EXTRA}"
        raise ProblemError("--output", ".mp4", EXTRA, missing) from None
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        missing = "imageio-ffmpeg has no ffmpeg for this machine: install ffmpeg, or write a .gif"
        raise ProblemError("--output", ".mp4", "an ffmpeg on the search path, or .gif", missing) from None


def check_film(path: Path, size: tuple[int, int], fps: float) -> None:
    """Raises, before the first picture, what would otherwise fail later."""
    if path.suffix.lower() == ".mp4":
        if size[0] % 2 or size[1] % 2:
            raise ProblemError("--size", f"{size[0]}x{size[1]}", "even numbers: a film stores colors for 2 x 2 pixels")
        ffmpeg()
    elif fps > GIF_RATE:
        raise ProblemError("--fps", fps, f"at most {GIF_RATE:g} for a GIF: viewers show faster ones slowly")


@contextmanager
def film(
    path: Path, size: tuple[int, int], fps: float, samples: Callable[[], list[Bytes]], sound: Path | None = None
) -> Iterator[_Pipe | Gif]:
    """A film that is written atomically when the block ends; it takes pictures (height, width, 3), all of one size.

    `samples` returns a few of its pictures, from which a GIF takes its palette. `sound` is a WAV file for an MP4.
    """
    with atomic_path(path) as part:
        if path.suffix.lower() == ".mp4":
            with _mp4(part, size, fps, sound) as out:
                yield out
        else:
            gif = Gif(samples(), fps)
            yield gif
            gif.write(part)


# ---- MP4


@contextmanager
def _mp4(path: Path, size: tuple[int, int], fps: float, sound: Path | None) -> Iterator[_Pipe]:
    heard = ("-an",) if sound is None else ("-map", "0:v", "-map", "1:a", "-c:a", "aac", "-b:a", "160k")
    command = [
        *(ffmpeg(), "-hide_banner", "-loglevel", "error", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.12g}", "-i", "-"),
        *(() if sound is None else ("-i", str(sound))),
        # The color space of HD video is named in the file; otherwise players guess it and colors are washed out.
        *("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"),
        *("-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
        *("-c:v", "libx264", "-preset", "medium", "-crf", str(QUALITY), "-pix_fmt", "yuv420p"),
        *("-movflags", "+faststart", *heard, str(path)),
    ]
    # In a session of its own ffmpeg does not receive Ctrl-C; this program does, and then ends ffmpeg.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        yield _Pipe(process)
        message = process.communicate()[1].decode(errors="replace")
        if process.returncode:
            raise _broken(message)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _broken(message: str) -> ProblemError:
    text = " ".join(message.split())[-200:] or "no message"
    return ProblemError("--output", "film", "room on the disk", f"ffmpeg could not write the film: {text}")


class _Pipe:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def add(self, picture: Bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).data)
        except BrokenPipeError:
            message = self._process.stderr.read().decode(errors="replace") if self._process.stderr else ""
            raise _broken(message) from None


# ---- GIF


class Gif:
    """A GIF with one palette for all pictures, so that still parts do not flicker.

    It keeps the pictures in memory, one byte per pixel, until they are written.
    """

    def __init__(self, samples: list[Bytes], fps: float) -> None:
        self._fps = fps
        self._frames: list[Any] = []
        colors, weight = _counted(samples)
        self._palette = _palette(colors, weight)
        height, width = samples[0].shape[:2]
        self._pattern = None
        if len(colors) > SHADES:
            tiles = np.tile(STRENGTH * PATTERN, (height // 4 + 1, width // 4 + 1))
            self._pattern = tiles[:height, :width, None].astype(np.float32)

    def add(self, picture: Bytes) -> None:
        from PIL import Image

        if self._pattern is not None:
            picture = (picture + self._pattern).clip(0.0, 255.0).astype(np.uint8)
        frame = Image.fromarray(np.ascontiguousarray(picture))
        self._frames.append(frame.quantize(palette=self._palette, dither=Image.Dither.NONE))

    def write(self, path: Path) -> None:
        # A GIF counts hundredths of a second. Rounding the ends of the frames keeps the total duration right.
        ends = np.round(100.0 * np.arange(1, len(self._frames) + 1) / self._fps).astype(int)
        lengths = (10 * np.diff(ends, prepend=0)).tolist()
        first, *others = self._frames
        first.save(path, save_all=True, append_images=others, duration=lengths, loop=0, optimize=False)


def _counted(samples: list[Bytes]) -> tuple[Bytes, np.ndarray]:
    """The colors of the samples, similar ones averaged, and the number of pixels of each."""
    pixels = np.concatenate([s.reshape(-1, 3) for s in samples])
    coarse = pixels >> COARSE
    key = (coarse[:, 0].astype(np.int64) << 16) | (coarse[:, 1].astype(np.int64) << 8) | coarse[:, 2]
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    mean = np.stack([np.bincount(inverse, pixels[:, k]) / count for k in range(3)], axis=1)
    return np.round(mean).astype(np.uint8), count


def _palette(colors: Bytes, count: np.ndarray) -> Any:
    """A palette weighted by a power of the counts: a white page must not use up the colors of small bodies."""
    from PIL import Image

    times = np.maximum(1, np.round(count**0.6)).astype(int)
    pixels = np.repeat(colors, times, axis=0)
    return Image.fromarray(pixels[None]).quantize(COLORS, method=Image.Quantize.MEDIANCUT)
