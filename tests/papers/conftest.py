"""The made-up projects of the report's tests."""

from tests.report.conftest import loaded, make

__all__ = ["loaded", "make"]
