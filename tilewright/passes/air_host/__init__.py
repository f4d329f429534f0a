"""The host side of AIR programs: its transfers, the shim channels that they go through, and the way to the runtime."""
