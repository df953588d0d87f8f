"""Inverse tone mapping: colors for the renderer of the page that appear as intended.

three.js takes the colors of instances as linear light and applies the ACES film curve (S. Hill's fit, with an exposure
of 1/0.6), which makes them pale and bright. `lit` inverts this: under light of GAIN times white a surface has the given
color up to a few of 255 levels. The most saturated colors, which the curve cannot produce, are a little paler; `shown`
returns what is displayed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

GAIN = 2.0  # light on a surface that faces the lamp; 1 would show white as white without the curve
_EXPOSURE = 0.6
_IN = np.array([[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]])
_OUT = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
_OUT_BACK, _IN_BACK = np.linalg.inv(_OUT), np.linalg.inv(_IN)
_BYTES = np.arange(256) / 255.0
_LINEAR = np.where(_BYTES <= 0.04045, _BYTES / 12.92, ((_BYTES + 0.055) / 1.055) ** 2.4)


def lit(colors: Bytes) -> Bytes:
    """sRGB bytes (n, 3) as bytes for instances: linear, before the curve, divided by GAIN. 6 bits per channel."""
    six = (colors >> 2).astype(np.intp)
    return _lit_table()[(six[:, 0] << 12) | (six[:, 1] << 6) | six[:, 2]]


@cache
def _lit_table() -> Bytes:
    """(64^3, 3) for all colors with 6 bits per channel: solving for each color would take longer than sending it."""
    levels = np.round(np.arange(64) * (255.0 / 63.0)).astype(np.intp)
    colors = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    wanted = (_LINEAR[colors] @ _OUT_BACK.T).clip(0.0, 0.995)
    # The curve y = (v (v + a) - b) / (v (c v + d) + e) is a quadratic equation for v in each channel.
    one, two = 1.0 - 0.983729 * wanted, 0.0245786 - 0.4329510 * wanted
    three = -0.000090537 - 0.238081 * wanted
    light = (np.sqrt(two * two - 4.0 * one * three) - two) / (2.0 * one)
    scene = _EXPOSURE * (light @ _IN_BACK.T)
    return (scene * (255.0 / GAIN)).clip(0.0, 255.0).round().astype(np.uint8)


def shown(colors: Bytes) -> Bytes:
    """The sRGB bytes (n, 3) that the page displays for given ones."""
    scene = lit(colors) * (GAIN / 255.0)
    light = (scene / _EXPOSURE) @ _IN.T
    curved = (light * (light + 0.0245786) - 0.000090537) / (light * (0.983729 * light + 0.4329510) + 0.238081)
    linear = (curved @ _OUT.T).clip(0.0, 1.0)
    out = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
    return (255.0 * out).round().astype(np.uint8)
