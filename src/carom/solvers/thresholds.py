"""Thresholds that select a method by the size of a problem.

All of them are numbers of contacts or bodies, or costs in multiplications. They were measured on one core; results on
either side of a threshold agree within the tolerance of the methods, but not bit for bit.
"""

from __future__ import annotations

LARGEST_CLAMP = 2000  # contacts
COARSE_IMPACT = 500  # contacts
FEW_REPEATS = 2000  # contacts
