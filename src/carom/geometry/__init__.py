"""Geometry without scenes: rotations, polygons, solids, meshes, mass properties, and the tables that kernels read."""
