"""Settings for all tests, and the modules beside this one for them to import."""

import signal

from hypothesis import settings

# Properties are judged by what they compute, not by how long a busy machine takes for it.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


# A shell lets what it starts in the background ignore interrupts; what tests start to interrupt it would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
