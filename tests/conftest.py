"""Properties are judged by what they compute, not by how long a busy machine takes for it."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
