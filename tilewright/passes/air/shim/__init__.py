"""Transfers of host code as accesses to host memory: the parts that several passes over shim descriptors share.

`host_transfers` finds transfers and the shim channels they go through, `linear` reads their offsets, `patterns`
computes on wraps and strides and `cutting` makes them legal; `folding` puts loops into them, `loops` copies out the
others, and `launches` makes loops of launches and waits for what they start.
"""
