"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# No verdict from the clock: on a machine that others use as well, any example may take long.
settings.register_profile("opwright", deadline=None, print_blob=True)
settings.load_profile("opwright")
