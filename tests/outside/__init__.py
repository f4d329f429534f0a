"""Comparisons with public material that is not kept here: each reads a clone that it is given, and prints what held.

    PYTHONPATH=tests python -m outside.encodings CLONE

Documents that state such a figure name the module that prints it. A module exits with status 1 if something differs.
"""
