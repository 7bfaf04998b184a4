"""`python -m tools.screenshots` before it opens a browser: what it says of itself, and of a folder without a report."""

from pathlib import Path

import pytest

from tools import screenshots


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--help"], 0, "every page of a report as readers see it"),
        (["nosuch"], 2, "nosuch: holds no report (pages/items.html); run `dvc repro`"),
        (["a", "b", "c"], 2, "unrecognized arguments: c"),
    ],
)
def test_words_that_take_no_picture(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["screenshots", *words])
    with pytest.raises(SystemExit) as ended:
        screenshots.main()
    out, err = capsys.readouterr()
    assert ended.value.code == status and says in " ".join((out + err).split())
    assert not list(tmp_path.iterdir())
