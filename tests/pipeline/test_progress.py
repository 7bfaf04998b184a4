"""Progress degrades to plain lines where there is no terminal."""

import pytest

from vouch.pipeline import progress as module
from vouch.pipeline.progress import progress


def test_items_pass_unchanged_and_quickly_done_work_is_silent(capfd):
    assert list(progress(range(5), 5, "work")) == [0, 1, 2, 3, 4]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("total", [4, None, 0])
def test_slow_work_writes_plain_lines(capfd, monkeypatch, total):
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LINES", 0.0)
    list(progress(range(4), total, "work"))
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == 4 and lines[-1].startswith("work: 4") and "\r" not in err
    assert ("of 4 (100%)" in lines[-1]) == (total == 4)
