"""Solvers of the box QP `min 1/2 y^T A y + c^T y`, `lo <= y <= hi`."""
