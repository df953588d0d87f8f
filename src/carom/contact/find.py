"""Contacts of a single step or state."""

from __future__ import annotations

from ..world import State, World
from .contact_set import ContactSet
from .detector import Detector


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

    Runs use a `Detector`, which is faster. Pairs that are apart in both states have no contacts.
    """
    return Detector(world).at_ends(before, after, margin)
