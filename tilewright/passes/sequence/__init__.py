"""Passes on runtime sequences: transfers, tasks, descriptors, loops, checks."""
