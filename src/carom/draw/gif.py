"""GIF films with one palette for all pictures, so that what stands still does not flicker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .colors import Bytes

COLORS = 256
SHADES = 3_000  # colors of the samples from which they count as shaded
COARSE = 3  # bits of each color that do not count when colors are counted
# A fixed pattern (Bayer, 1973) hides the steps between the colors of a palette, and does not move with time.
PATTERN = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16.0 - 15.0 / 32.0
STRENGTH = 7.0  # of that pattern, in levels of color


class Gif:
    """Takes pictures (height, width, 3) and keeps them, one byte a pixel, until they are written."""

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
        # A GIF counts hundredths of a second: the rounding is spread so that the whole has the right length.
        ends = np.round(100.0 * np.arange(1, len(self._frames) + 1) / self._fps).astype(int)
        lengths = (10 * np.diff(ends, prepend=0)).tolist()
        first, *others = self._frames
        first.save(path, save_all=True, append_images=others, duration=lengths, loop=0, optimize=False)


def _counted(samples: list[Bytes]) -> tuple[Bytes, np.ndarray]:
    """Colors of the samples, similar ones as one, and how often each is there."""
    pixels = np.concatenate([s.reshape(-1, 3) for s in samples])
    coarse = pixels >> COARSE
    key = (coarse[:, 0].astype(np.int64) << 16) | (coarse[:, 1].astype(np.int64) << 8) | coarse[:, 2]
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    mean = np.stack([np.bincount(inverse, pixels[:, k]) / count for k in range(3)], axis=1)
    return np.round(mean).astype(np.uint8), count


def _palette(colors: Bytes, count: np.ndarray) -> Any:
    """By a root of the counts: a white page must not take the colors from small bodies."""
    from PIL import Image

    times = np.maximum(1, np.round(count**0.6)).astype(int)
    pixels = np.repeat(colors, times, axis=0)
    return Image.fromarray(pixels[None]).quantize(COLORS, method=Image.Quantize.MEDIANCUT)
