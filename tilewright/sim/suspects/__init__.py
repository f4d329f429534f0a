"""A wait -> who should end it, or why nobody will: single steps of what `hangs` tells."""
