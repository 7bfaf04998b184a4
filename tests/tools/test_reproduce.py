"""What `make reproduce` says of two sets of results."""

from tools.reproduce import differences


def test_each_difference_is_one_line():
    first = {"data/a": "1", "data/b": "2", "data/c": "3"}
    assert list(differences(first, dict(first))) == []
    assert list(differences(first, {"data/a": "1", "data/b": "9", "reports/d": "4"})) == [
        "data/b: differs",
        "data/c: only made by the first",
        "reports/d: only made by the second",
    ]
