"""Running passes, by the paths of upstream's `extras`."""
