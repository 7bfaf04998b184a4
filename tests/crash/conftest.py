"""The finished checkout of tests/pipeline, made once for all."""

from tests.pipeline.conftest import finished, once

__all__ = ["finished", "once"]
