"""The `tosa` dialect, by its name alone: designs have no operations of it, and none are here."""

__all__: list[str] = []
