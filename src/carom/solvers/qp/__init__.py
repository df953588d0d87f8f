"""Solvers of the cone problem `min 1/2 y^T A y + c^T y`, `y >= 0`."""
