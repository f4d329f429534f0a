"""Contexts, types and dialect helpers, by the paths of upstream's `extras`."""
