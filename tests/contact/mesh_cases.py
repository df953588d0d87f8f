"""Contacts of meshes as columns, for tests."""

from __future__ import annotations

import numpy as np

from carom.contact.boundaries import boundary_table
from carom.contact.contact_set import ContactSet
from carom.contact.meshes import mesh_contacts, mesh_pairs


def columns(table):
    """(first, second, feature_id, normal, point, gap, predicted)."""
    c = ContactSet(table, 3)
    return c.first, c.second, c.feature_id, c.normal, c.point, c.gap, c.predicted


def pair_contacts(solids, where, margin, order=(0, 1)):
    """(feature_id, normal, point, gap, predicted) of two bodies."""
    return columns(mesh_pairs(np.array([order[0]]), np.array([order[1]]), solids, where, margin))[2:]


def boundary_contacts(solids, where, boundaries, margin, chosen=None):
    """(body, boundary, feature_id, normal, point, gap, predicted) with boundaries at the start and at the end."""
    none, margins = np.empty(0, np.int64), np.full(len(where.owner), margin)
    chosen = np.ones(len(where.owner), bool) if chosen is None else chosen
    tables = boundary_table(boundaries[0]), boundary_table(boundaries[1])
    body, boundary, *rest = columns(mesh_contacts(solids, where, (none, none), chosen, tables, margins))
    return body, -1 - boundary, *rest
