"""Errors that a person is to read."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vouch.pipeline.errors import UserError


@contextmanager
def refused(match: str = ".") -> Iterator[pytest.ExceptionInfo[UserError]]:
    """The block raises a UserError that matches, in one line."""
    with pytest.raises(UserError, match=match) as caught:
        yield caught
    assert "\n" not in str(caught.value)
