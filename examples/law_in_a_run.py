"""One scene under several laws: does a falling grid of discs stick together, or does it scatter?

python examples/law_in_a_run.py
"""

from __future__ import annotations

import carom
from carom.analysis.runs import neighbors_kept

LAWS = ("gr", "qce", "lcp")


def kept() -> dict[str, float]:
    """Part of the touching neighbors that are still together at the end, for each law."""
    scene = carom.scenes.splash(side=9)
    result = {}
    for law in LAWS:
        run = carom.simulate(scene, law=law)
        result[law] = neighbors_kept(run.positions[0], run.positions[-1], diameter=2.0)
    return result


def main() -> None:
    for law, part in kept().items():
        print(f"{law:4} {part:6.1%} of the neighbors stay together")


def check() -> None:
    """The Newton-law LCP has no break-away: the grid bounces whole. Reflections and contact energy scatter it."""
    result = kept()
    assert result["lcp"] > 0.9
    assert result["gr"] < 0.3
    assert result["qce"] < 0.3


if __name__ == "__main__":
    main()
