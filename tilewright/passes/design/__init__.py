"""Passes on the design: objectFifos, copies, locks, addresses, routes, placement, traces, cores."""
