"""Helpers on top of the dialects."""
