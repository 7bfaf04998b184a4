"""`vouch plan` on the profiles of the papers: their sizes, without data and without a network."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Vouch, lay_out
from tests.models.project import ROOT
from vouch.cli.plan import prompt_sets, sizes
from vouch.params.check import check_params
from vouch.params.project import Project
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

# What the papers print: models x datasets, datasets x variations, and of these the ones with two at once.
PAPERS = {
    "kostumov": ([(26, 5)], (5, 0)),
    "azad": ([(16, 6)], (6, 0)),
    "tu": ([(30, 8), (15, 4)], (8, 0)),
    "parc": ([(22, 7)], (81, 26)),
    "reform": ([(16, 61)], None),
}
ROWS = {
    "kostumov": {"mmbench": 4377, "oodcv": 2844, "scienceqa": 3953, "seedbench": 14233, "ai2d": 15501},
    "azad": {
        "ai2d": 3088, "scienceqa": 2017, "mathvision": 1532, "worldmedqa_v": 1136, "mmmu": 794,
        "mmmu_pro": 1213,
    },
    "tu": {"scienceqa": 2017, "ai2d": 3088, "mmmu": 1050, "realworldqa": 765, "chartqa": 2500},
    "parc": {"mmbench": 4377, "mit_attribute": 183, "vaw_state": 470, "nyu_depth": 1858, "fashion": 2435},
    "reform": {"scienceqa": 201, "scienceqa_likelihood": 201, "flowers102": 818, "refcoco": 240},
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout without data and params.yaml, and nothing outside it; no plan makes them."""
    path = tmp_path / "checkout"
    path.mkdir()
    lay_out(path, "profiles", "decisions")
    (path / "params.yaml").unlink()
    shutil.copy(ROOT / "models.lock", path)
    monkeypatch.chdir(path)
    yield path
    assert not (path / "data").exists()


@pytest.mark.parametrize("profile", sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml")))
def test_every_profile_names_itself_and_is_valid(profile: str, here: Path) -> None:
    assert f"\nprofile: {profile}\n" in (ROOT / f"profiles/{profile}.yaml").read_text("utf-8")
    if profile != "released":  # it is made valid by `vouch use`, with the files there are
        assert project(profile).profile == profile


def test_the_committed_params_are_the_demo() -> None:
    assert (ROOT / "params.yaml").read_bytes() == (ROOT / "profiles/demo.yaml").read_bytes()


def project(name: str) -> Project:
    return check_params(load(ROOT / f"profiles/{name}.yaml"), name)


@pytest.mark.parametrize("name", PAPERS)
def test_plan_reproduces_the_size_of_the_study(name: str, here: Path, vouch: Vouch) -> None:
    studies, sets = PAPERS[name]
    out = vouch("plan", name)
    said = " and ".join(f"{models} models x {datasets} datasets" for models, datasets in studies)
    assert f": {said}\n" in out
    if sets:
        more = f", and {sets[1]} of two variations at once" if sets[1] else ""
        assert f"prompt sets of a model (dataset x variation): {sets[0]}{more}\n" in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert {dataset: int(lines[dataset][2]) for dataset in ROWS[name]} == ROWS[name]
    asked = project(name).paper
    assert asked and all(one.why in out and all(each in out for each in one.names) for one in asked.absent)


def test_a_study_counts_entries_of_one_dataset_once(here: Path) -> None:
    reform = project("reform")
    names = {entry.settings["set"] for entry in reform.datasets.values()}
    assert len(names) == 61 and len(reform.datasets) == 61 + 42
    likelihood = [name for name in reform.datasets if name.endswith("_likelihood")]
    assert all((reform.datasets[name].variant or "").endswith("likelihood") for name in likelihood)
    fewer = reform.model_copy(update={"datasets": {name: reform.datasets[name] for name in likelihood}})
    assert sizes(fewer) == [(16, 42)] and prompt_sets(fewer) == (42 * 2 + 1, 0)


@pytest.mark.parametrize("name", PAPERS)
def test_dvc_reads_a_profile_as_we_do(name: str) -> None:
    from dvc.utils.serialize import parse_yaml

    path = ROOT / f"profiles/{name}.yaml"
    assert parse_yaml(path.read_text("utf-8"), str(path)) == load(path)


@pytest.mark.parametrize("name", PAPERS)
def test_what_has_no_commit_is_named(name: str, here: Path) -> None:
    origins = [entry.origin for entry in project(name).datasets.values() if entry.origin]
    assert all(origin.unpinned != origin.pinned for origin in origins)
    locked = load(ROOT / "models.lock")["models"]
    assert not any(entry.get("unpinned") for entry in locked.values()), "refused until it is locked"


def test_an_unknown_profile(here: Path, vouch: Vouch) -> None:
    assert "did you mean parc?" in vouch("plan", "pacr", status=1)


def test_an_absent_model_of_an_unknown_dataset(here: Path) -> None:
    values = load(ROOT / "profiles/tu.yaml")
    values["paper"]["absent"][1]["datasets"] = ["ai2"]
    with pytest.raises(Exception, match=r"paper\.absent\.1\.datasets: unknown name ai2;.*mean ai2d"):
        check_params(values, "tu")


def test_a_profile_takes_the_place_of_what_is_no_text(here: Path, vouch: Vouch) -> None:
    damaged = "é".encode("utf-16")
    (here / "params.yaml").write_bytes(damaged)
    said = vouch("use", "small")
    assert (here / "params.yaml").read_bytes() == (ROOT / "profiles/small.yaml").read_bytes()
    (kept,) = (here / ".vouch/params").iterdir()
    assert kept.read_bytes() == damaged and str(kept.relative_to(here)) in said


@pytest.mark.parametrize("content", ["", "[]", "stages:\n", "params: a"])
def test_a_definition_without_stages_is_one_line(bare: Path, content: str) -> None:
    (bare / "dvc.yaml").write_text(content, "utf-8")
    with pytest.raises(UserError, match=r"^dvc\.yaml: has no `stages`; restore it from version control$"):
        read_dag()
