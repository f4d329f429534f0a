"""Damaged inputs for every reader and tool: each ends in success or in an error meant for users.

`cases` says what that means and runs one case, `targets` has the tools with what makes inputs for them out of `corpus`
(`mutations` of texts and bytes, `streams` of TXN operations), `runner` works through them in processes that may die,
and `journal` keeps what was done, so that a later run goes on from there. `make fuzz` is the command.
"""
