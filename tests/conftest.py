"""For all tests: how long a test takes depends on what else the machine does, so none fails for it."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
