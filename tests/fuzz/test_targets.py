"""A few hundred damaged files for each reader; `make fuzz` goes on from there."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from stages.runtime.errors import UserError
from tests.fuzz.judging import fuzz, judged, load, targets
from tests.fuzz.mutate import mutated

EXAMPLES, SECONDS = 200, 60.0


@pytest.mark.parametrize("name", targets())
def test_damage_is_a_clean_result_or_one_line(name: str) -> None:
    few = getattr(load(name), "FEW", EXAMPLES)
    report = fuzz(name, 0, SECONDS, few)
    assert report.crashes == []
    assert report.examples == few
