"""Narrow phase of space: contacts of solids with each other and with boundaries."""
