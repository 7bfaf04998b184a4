"""DVC's own caches: what it does not check is checked here, and what it remembers of runs comes back."""

import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo

from tests.remotes.project import Repository, flip, whole
from tests.remotes.servers import serve
from vouch.cli.main import main


@pytest.fixture
def there(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The repository with a folder as its remote."""
    with serve("local", tmp_path / "remote") as remote:
        repository.use(remote)
    for name, value in repository.env.items():
        monkeypatch.setenv(name, value)
    return repository


def test_a_damaged_cache_is_found_and_mended(there: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    before, table = there.contents(), Path("data/items/left.parquet")
    with Repo() as repo:
        repo.push()
        assert main(["store", "verify"]) == 0
        stored = next(path for path in there.cache.values() if path.read_bytes() == table.read_bytes())
        flip(stored)
        stored.chmod(0o444)  # as DVC leaves it, and takes it for whole
        table.unlink()
        repo.checkout()
        assert not repo.status() and there.contents() != before, "DVC sees nothing of it"
    assert main(["store", "verify"]) == 1
    out = capsys.readouterr().out
    assert f"{table}: not the bytes that prepare@left wrote" in out and stored.name in out
    assert main(["store", "verify", "--mend"]) == 0 and not table.exists() and whole(there.cache)
    with Repo() as repo:
        repo.pull()
    assert there.contents() == before and main(["store", "verify"]) == 0


def test_where_nothing_is_nothing_is_called_whole(
    there: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in [*Path("data").iterdir(), Path(".dvc/cache")]:
        shutil.rmtree(path, ignore_errors=True)
    assert main(["store", "verify"]) == 1
    assert capsys.readouterr() == (
        "",
        "vouch: nothing to verify: no output is here; `dvc pull` fetches them\n",
    )


def test_what_was_not_compared_is_not_called_whole(
    there: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "verify"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("verify: 5 outputs and ") and out.endswith(
        " of DVC's cache read; nothing is damaged\n"
    )
    table = Path("data/items/left.parquet")
    table.unlink()
    assert main(["store", "verify"]) == 0
    out = capsys.readouterr().out
    assert (
        out.startswith("verify: 1 of 5 outputs are not here: `dvc pull`")
        and "\nverify: 4 outputs and " in out
    )
    Path("dvc.lock").unlink()
    flip(Path("data/items/right.parquet"))
    assert main(["store", "verify"]) == 0
    out = capsys.readouterr().out
    assert "verify: data/items/right.parquet: not in the record of prepare@right" in out
    assert "\nverify: 0 outputs and " in out


ALPHA = """
stages:
  double:
    cmd: python double.py
    deps: [double.py]
    params: [alpha]
    outs: [out.txt]
"""


def test_earlier_parameters_come_back_with_the_run_cache(there: Repository) -> None:
    Path("dvc.yaml").write_text(ALPHA)
    Path("double.py").write_text(
        "import re\nalpha = re.search('[0-9]+', open('params.yaml').read())[0]\n"
        "open('ran', 'a').write(alpha)\nopen('out.txt', 'w').write(str(2 * int(alpha)))\n"
    )
    for alpha in (1, 2):
        assert made(alpha) == str(2 * alpha)
        with Repo() as repo:
            repo.push(
                run_cache=True
            )  # sends the records of all runs, but the results of the present one only
    there.lose()
    Path("out.txt").unlink()
    with Repo() as repo:
        repo.pull(run_cache=True)
    for alpha in (1, 2):
        assert made(alpha) == str(2 * alpha)
    assert Path("ran").read_text() == "12", "nothing was computed again"
    for path in Path(".dvc/cache/runs").rglob("*"):
        if path.is_file():
            flip(path)
    assert made(1) == "2", "a damaged record of a run costs computing at most"


def made(alpha: int) -> str:
    """What `dvc repro --pull` leaves with this parameter."""
    Path("params.yaml").write_text(f"alpha: {alpha}\n")
    with Repo() as repo:
        repo.reproduce(pull=True)
    return Path("out.txt").read_text()
