"""Support: what any package may use and what knows nothing of programs or hardware."""
