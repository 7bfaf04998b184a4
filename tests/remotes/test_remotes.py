"""Push, lose everything, pull: the same bytes, also after a kill, and damage is named and mended."""

import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo

from tests.remotes.project import MODEL, Repository, flip, whole
from tests.remotes.servers import Remote
from vouch.cli.main import main

WEIGHTS = f"data/models/{MODEL}/model.safetensors"


@pytest.fixture
def there(repository: Repository, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The repository with an empty remote."""
    repository.use(remote)
    for name, value in repository.env.items():
        monkeypatch.setenv(name, value)
    return repository


def push() -> int:
    with Repo() as repo:
        return int(repo.push())


def pull() -> None:
    with Repo() as repo:
        repo.pull()


def status() -> dict[str, object]:
    with Repo() as repo:
        return dict(repo.status())


def test_killed_in_the_middle_the_next_command_finishes(there: Repository, remote: Remote) -> None:
    before, objects = there.contents(), set(there.cache)
    there.killed(remote, "push")
    assert whole(remote.objects()) and remote.objects().keys() < objects, "the weights are not there"
    assert push() and remote.objects().keys() == objects and whole(remote.objects())
    there.lose()
    there.killed(remote, "pull")
    assert whole(there.cache) and there.cache.keys() < objects
    assert all(before[name] == content for name, content in there.contents().items())
    pull()
    assert there.contents() == before and status() == {}


def test_a_damaged_object_is_named_and_mended(
    there: Repository, remote: Remote, capfd: pytest.CaptureFixture[str]
) -> None:
    before = there.contents()
    push()
    weights = max(remote.objects().values(), key=lambda path: path.stat().st_size)
    flip(weights)
    kept = shutil.copytree(".dvc/cache", there.path.parent / "kept")
    there.lose()
    assert main(["store", "pull"]) == 1
    assert not Path(WEIGHTS).exists() and whole(there.cache), "what is damaged came nowhere"
    last = capfd.readouterr().err.strip().splitlines()[-1]
    assert last.startswith(f"vouch: {WEIGHTS}: its object") and "`vouch store verify --remote --mend`" in last
    shutil.copytree(kept, ".dvc/cache", dirs_exist_ok=True)  # a machine that has it whole
    assert push() == 0, "DVC takes what is there for whole"
    assert main(["store", "verify", "--remote", "--mend"]) == 0
    assert weights.name in capfd.readouterr().out and not weights.exists()
    assert push() == 2 and whole(remote.objects()), "the weights and the list of their folder"
    there.lose()
    pull()
    assert there.contents() == before
