"""Helpers for programs, by upstream's paths."""
