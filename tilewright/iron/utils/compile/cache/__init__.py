"""Caches of compiled designs."""
