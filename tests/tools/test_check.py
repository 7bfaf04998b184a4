"""Which tests `make check` selects for a changed file."""

from pathlib import Path

import pytest

from tools.check import Suite, selected

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("changed", "some", "none_of"),
    [
        ("vouch/pipeline/locks.py", "tests/pipeline/test_locks.py", "tests/pipeline/test_yaml12.py"),
        ("vouch/pipeline/yaml12.py", "tests/pipeline/test_yaml12.py", "tests/models"),
        (
            "vouch/prompts/templates/plain.yaml",
            "tests/prompts",
            "tests/pipeline",
        ),  # imported by none: the room
        ("stages/score.py", "tests/metrics", "tests/report"),
        ("tests/pipeline/test_locks.py", "tests/pipeline/test_locks.py", "tests/pipeline/test_order.py"),
        ("tests/pipeline/conftest.py", "tests/pipeline/test_order.py", "tests/models"),
        ("tests/checkouts/checkout.py", "tests/checkouts/test_edits.py", "tests/demo"),  # a helper
        ("docs/statistics.md", "tests/docs/test_links.py", "tests/metrics"),
        ("CHANGELOG.md", "", "tests"),
    ],
)
def test_a_changed_file_selects_the_tests_of_its_room(changed, some, none_of, monkeypatch):
    monkeypatch.chdir(ROOT)
    files = selected([changed])
    assert any(name.startswith(some) for name in files) or not some
    assert not any(name.startswith(none_of) for name in files)


def test_modules_are_found_through_helpers(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = Suite().importing("vouch.pipeline.state", "tests/checkouts")
    assert Path("tests/checkouts/test_edits.py") in found
