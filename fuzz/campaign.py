"""What a campaign is: how a random case is made, checked and saved.

A campaign is a module of this package with an instance of a subclass of `Campaign` called `CAMPAIGN`. Case number i of
seed s depends on (s, i) alone, so that two numbers reproduce it.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from carom.scene import Scene

GIBIBYTE = 1 << 30


@dataclass(frozen=True)
class Simulated:
    """A scene, how it is simulated, and its number of bodies."""

    scene: Scene
    law: str
    stepper: str
    step: float
    count: int

    def save(self, folder: Path) -> None:
        """Writes the scene as a file, and the rest as text."""
        from carom.scene.file import save_scene  # late: a campaign without scenes starts without Numba

        save_scene(self.scene, folder / "scene.toml", overwrite=True)
        (folder / "case.txt").write_text(f"law {self.law}, stepper {self.stepper}, step {self.step!r}\n")


class Campaign:
    """Random cases of one kind. Subclasses give `title`, `case` and `check`."""

    title = ""
    quick = 20
    """Number of cases with seed 0 in the test suite."""
    limit_seconds = 5.0
    """CPU time that one case may take, with compiled kernels."""
    limit_bytes = 2 * GIBIBYTE
    """Memory that one case may take beyond what the process holds after its imports."""

    def case(self, rng: np.random.Generator) -> Any:
        """One random case, made from `rng` alone."""
        raise NotImplementedError

    def check(self, case: Any, folder: Path) -> str | None:
        """What is wrong with the result, in one line, or None. `folder` is empty and may be written to.

        The text up to the first colon is the kind of failure; failures are counted by it. An exception is a failure.
        """
        raise NotImplementedError

    def group(self, case: Any) -> str:
        """The row of the table in which the case is counted."""
        return "all"

    def save(self, case: Any, folder: Path) -> None:
        """Write what one needs to look at the case without this package, by default its text."""
        (folder / "case.txt").write_text(f"{case!r}\n")


def campaign(name: str) -> Campaign:
    """The campaign in the module of that name."""
    found: Campaign = import_module(f"{__package__}.{name}").CAMPAIGN
    return found


def names() -> list[str]:
    """The modules of this package that hold a campaign."""
    folder = Path(__file__).parent
    return [m.name for m in iter_modules([str(folder)]) if "\nCAMPAIGN = " in (folder / f"{m.name}.py").read_text()]


def drawn(chosen: Campaign, seed: int, index: int) -> Any:
    """Case `index` of `seed`."""
    return chosen.case(np.random.default_rng([seed, index]))


def failure(chosen: Campaign, case: Any, folder: Path) -> str | None:
    """What `check` finds; an exception gives its type, text and the innermost line of the library."""
    try:
        return chosen.check(case, folder)
    except MemoryError:
        return f"memory: more than {chosen.limit_bytes / GIBIBYTE:.1f} GiB"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        place = next((f for f in reversed(frames) if "carom" in f.filename), frames[-1])
        where = f"{Path(place.filename).name}:{place.lineno}"
        text = " ".join(str(error).split())[:200]
        return f"{type(error).__name__} in {where}: {text}"
