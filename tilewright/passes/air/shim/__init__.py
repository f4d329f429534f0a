"""Transfers of host code as accesses to host memory: the parts that several passes over shim descriptors share."""
