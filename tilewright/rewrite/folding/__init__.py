"""Folders and canonicalization patterns, a module for each dialect; `rewrite.canonicalization` finds them."""
