"""The compressed bytes are what any HDF5 library reads."""

from __future__ import annotations

import io
import zlib

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.trajectory.series import SAMPLE, STORED, shuffle_deflate

rng = np.random.default_rng(5)


def unshuffled(packed: bytes, like: np.ndarray) -> np.ndarray:
    planes = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(like.dtype.itemsize, -1)
    return np.ascontiguousarray(planes.T).reshape(-1).view(like.dtype).reshape(like.shape)


@given(
    st.integers(1, 3 * SAMPLE),
    st.sampled_from(["noise", "zeros", "grid", "steps"]),
    st.sampled_from([np.float64, np.int8, np.dtype([("a", np.int16), ("b", np.float64)])]),
)
def test_zlib_gives_the_numbers_back(count, kind, dtype):
    dtype = np.dtype(dtype)
    values = {
        "noise": lambda: rng.bytes(count * dtype.itemsize),
        "zeros": lambda: bytes(count * dtype.itemsize),
        "grid": lambda: np.resize(np.arange(97, dtype=np.uint8), count * dtype.itemsize).tobytes(),
        "steps": lambda: np.repeat(rng.integers(0, 9, count, np.uint8), dtype.itemsize).tobytes(),
    }[kind]()
    block = np.frombuffer(values, dtype)
    assert unshuffled(shuffle_deflate(block), block).tobytes() == values


@pytest.mark.parametrize("count", [STORED - 1, STORED, STORED + 1, 2 * STORED, 2 * STORED + 7])
def test_planes_of_noise_at_the_length_of_a_stored_block(count):
    block = np.frombuffer(rng.bytes(8 * count), np.float64)
    assert unshuffled(shuffle_deflate(block), block).tobytes() == block.tobytes()


def test_hdf5_reads_a_chunk_that_was_written_this_way():
    block = np.linspace(0.0, 1.0, 3000).reshape(50, 30, 2)
    with h5py.File(io.BytesIO(), "w") as file:
        data = file.create_dataset("x", (50, 30, 2), "f8", chunks=(50, 30, 2), shuffle=True, compression="gzip")
        data.id.write_direct_chunk((0, 0, 0), shuffle_deflate(block))
        assert np.array_equal(data[()], block)


def test_it_is_no_larger_than_gzip_on_numbers_that_move():
    """81 bodies in free flight over 200 frames, as a chunk of a small run. Noise may be stored, so 2 % are allowed."""
    start, velocity = rng.normal(size=(2, 81, 2))
    block = start + 0.01 * np.arange(200)[:, None, None] * velocity
    planes = np.ascontiguousarray(block.reshape(-1).view(np.uint8).reshape(-1, 8).T)
    assert len(shuffle_deflate(block)) < 1.02 * len(zlib.compress(planes.tobytes(), 1))
    assert len(shuffle_deflate(np.repeat(start[None], 200, 0))) < 0.05 * block.nbytes
