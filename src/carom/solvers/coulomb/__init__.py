"""Solvers of Coulomb friction problems: normal and friction impulses together."""
