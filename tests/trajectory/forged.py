"""Forged trajectories: files of a stranger whose checksums are right and whose values are not."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from carom.hdf5 import check_structure
from carom.trajectory.format import HASH, fixed_text
from carom.trajectory.journal import USER_BLOCK


def forge(content: bytes, path: Path, change: Callable[[h5py.File], None]) -> Path:
    """Writes the trajectory `content` to `path` after a change, with the checksum of the changed header."""
    memory = io.BytesIO(content)
    with h5py.File(memory, "r+", libver="earliest") as file:
        change(file)
        file.flush()
        data = memory.getvalue()
        digest = check_structure(lambda at, count: data[at : at + count], USER_BLOCK, len(data)).digest
        file.attrs.modify("checksum", np.array(digest.encode(), HASH))
    path.write_bytes(memory.getvalue())
    return path


def with_settings(**changes: Any) -> Callable[[h5py.File], None]:
    """The change of a file to other settings; the attribute `law` follows."""

    def change(file: h5py.File) -> None:
        settings = json.loads(file["settings"][()]) | changes
        replace_json(file, "settings", settings)
        if isinstance(settings.get("law"), str):
            file.attrs["law"] = fixed_text(settings["law"])

    return change


def replace_json(file: h5py.File, name: str, data: Any) -> None:
    del file[name]
    file.create_dataset(name, data=fixed_text(json.dumps(data)))
