"""The sound of a film: a short decaying tone for each impact, by the size of the smaller body and the impulse.

A tone is that of a struck bar (free at both ends): partials at 1, 2.756 and 5.404 times the lowest frequency, of which
the higher ones decay faster. The frequency is inversely proportional to the radius; the amplitude grows with a power
of the impulse, as loudness is heard. Tones of one frequency are one convolution, so that a million impacts take no
longer than ten.
"""

from __future__ import annotations

import wave
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ProblemError
from ..trajectory import Trajectory
from .colors import Floats

if TYPE_CHECKING:
    from .films import Span

RATE = 44_100  # samples per second
USUAL_PITCH = 900.0  # Hz, of a body of the median radius
LOWEST, HIGHEST = 120.0, 6_000.0  # Hz
PITCHES = 12  # per octave, to which frequencies are rounded
PARTIALS = (
    (1.0, 1.0, 1.0),
    (2.756, 0.4, 0.5),
    (5.404, 0.15, 0.25),
)  # ratio, amplitude, decay time relative to the first
DECAY = 0.07  # seconds in which a tone of USUAL_PITCH falls by a factor e; lower ones last longer
TONE = 7.0  # length of a tone, in decay times
ATTACK = 0.001  # seconds in which a tone begins: less would click
LOUDNESS = 0.6  # power of the impulse
SOFTEST = 1e-3  # impulses, relative to the largest, that are not heard
PEAK = 0.9  # of the largest sample


def film_sound(run: Trajectory, span: Span, pictures: int) -> Floats:
    """The samples of a film of a number of pictures, from -1 to 1; silent if it has no impact."""
    if run.events is None:
        wanted = "a run with events: run it again without --events none"
        raise ProblemError("--sound", str(run.path), wanted, f"--sound: {run.path} has no events; {wanted[19:]}")
    found = run.events.impacts
    time = (found["time"] - span.start) / span.speed
    size = np.linalg.norm(found.impulse, axis=1)
    radius = np.asarray(run.geometry["radius"], np.float64)
    other = np.where(found["second"] >= 0, radius[np.maximum(found["second"], 0)], np.inf)
    return mixed(
        time, size, np.minimum(radius[found["first"]], other) / np.median(radius), round(RATE * pictures / span.fps)
    )


def mixed(time: Floats, size: Floats, radius: Floats, count: int) -> Floats:
    """`count` samples with a tone for each impact: its time in seconds, its impulse, and the relative radius (m,)."""
    out = np.zeros(count)
    place = np.round(time * RATE).astype(np.int64)
    heard = (place >= 0) & (place < count) & (size > SOFTEST * size.max(initial=0.0))
    if not heard.any():
        return out
    place, loud = place[heard], (size[heard] / size[heard].max()) ** LOUDNESS
    pitch = np.clip(USUAL_PITCH / radius[heard], LOWEST, HIGHEST)
    number = np.round(PITCHES * np.log2(pitch / USUAL_PITCH)).astype(np.int64)
    for k in np.unique(number).tolist():
        mine, sound = number == k, tone(USUAL_PITCH * 2.0 ** (k / PITCHES))
        length = 1 << (count + len(sound) - 1).bit_length()
        strikes = np.bincount(place[mine], loud[mine], count)
        whole = np.fft.irfft(np.fft.rfft(strikes, length) * np.fft.rfft(sound, length), length)
        out += whole[:count]
    return out * (PEAK / np.abs(out).max())


def tone(frequency: float) -> Floats:
    """The samples of one tone."""
    decay = DECAY * np.sqrt(USUAL_PITCH / frequency)
    t = np.arange(int(TONE * decay * RATE)) / RATE
    out = np.zeros(len(t))
    for ratio, amplitude, lasts in PARTIALS:
        if ratio * frequency < 0.5 * RATE:
            out += amplitude * np.sin(2.0 * np.pi * ratio * frequency * t) * np.exp(-t / (decay * lasts))
    return out * np.minimum(t / ATTACK, 1.0)


def write_wav(path: Path, samples: Floats) -> None:
    """Writes samples from -1 to 1 as 16-bit WAV with one channel."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.round(32_767.0 * np.clip(samples, -1.0, 1.0)).astype("<i2").tobytes())
