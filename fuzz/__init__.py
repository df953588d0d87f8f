"""Campaigns of random cases against the library; `python -m fuzz --help`."""
