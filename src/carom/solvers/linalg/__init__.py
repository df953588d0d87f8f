"""Sparse block factorizations and their elimination order."""
