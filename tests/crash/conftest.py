"""The finished checkout of tests/checkouts, made once for all."""

from tests.checkouts.conftest import finished

__all__ = ["finished"]
