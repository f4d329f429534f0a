"""The part of llvmlite.binding.newpassmanagers that tilewright uses."""

from llvmlite.binding import ModulePassManager

class NewPassManager:
    @staticmethod
    def _dispose(passes: ModulePassManager) -> None: ...
