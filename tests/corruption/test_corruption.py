"""A bit flipped in anything that is read: noticed before a number is made of it, whatever the times say."""

from pathlib import Path

import pytest

from tests.corruption.made import make
from tools.flip_judges import HARMFUL, HARMLESS, NOTICED
from tools.flips import flipped, sweep
from vouch.cli.main import main
from vouch.datasets.fetch.download import STORE, Fetched, StoredFile, digest_of, is_whole
from vouch.pipeline import run as running
from vouch.pipeline.dag import Dag
from vouch.pipeline.errors import UserError

KINDS = {
    "data/compare", "data/defects", "data/embeddings", "data/images", "data/items", "data/judged", 
    "data/models", "data/prompts", "data/published", "data/rejects", "data/responses", "data/rewrites",
    "data/runs", "data/scores", "reports/assets", "reports/figures", "reports/headline", "reports/headline.json",
    "reports/index.html", "reports/items", "reports/metrics.json", "reports/pages", "reports/plots", "reports/tables", "data/text_similarity.parquet", "data/trained", "decisions", "work cache",
    "model folders, by the pin", "modes", "receipts", "memory of digests", "tables that no record knows",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dag]:
    """A project in which each stage has run; tests put back what they turn."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, make(folder)


@pytest.fixture(autouse=True)
def dag(made: tuple[Path, Dag], monkeypatch: pytest.MonkeyPatch) -> Dag:
    """Its stages; it is the working folder."""
    monkeypatch.chdir(made[0])
    return made[1]


def test_every_kind_of_file(capsys: pytest.CaptureFixture[str]) -> None:
    found = dict(sweep(flips=6, most=2))
    assert {name for name, said in found.items() if said["files"]} == KINDS
    assert not sum(said[HARMFUL] for said in found.values()), capsys.readouterr().err
    others = {name for name, said in found.items() if said[HARMLESS]}
    assert others <= {"tables that no record knows"}, "all else is noticed, bit by bit"


def test_no_stage_begins_on_a_bit_flip(dag: Dag, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of stage with each kind of its inputs; its body would be reached, and is for whole ones."""
    reached: list[str] = []
    pairs = {}
    for stage in dag.stages.values():
        for path in dag.inputs(stage):
            if path in dag.maker:
                pairs[stage.name.split("@")[0], Path(path).parts[:2]] = (stage, path)
    assert len(pairs) > 20
    for stage, path in pairs.values():
        _, _, module, *words = stage.cmd.split()

        def run(module: str = module, words: list[str] = words) -> None:
            running._run(
                module.removeprefix("stages."), words, lambda run: reached.append(run.stage), lambda: None
            )

        def judge(path: str = path, stage: str = stage.name) -> str:
            with pytest.raises(UserError, match=rf"^{path}: damaged, or .* `vouch store verify --mend`"):
                run()
            return NOTICED

        file = Path(path) / "model.safetensors" if Path(path).is_dir() else Path(path)
        assert flipped(file, file.stat().st_size // 2, 3, judge) == NOTICED and not reached
    run()
    assert len(reached) == 1


def test_commands_show_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("data/compare/leaderboard.parquet")

    def judge() -> str:
        assert main(["show"]) == 1
        out, err = capsys.readouterr()
        assert not out and err.startswith(f"vouch: {path}: damaged") and err.count("\n") == 1
        return NOTICED

    assert flipped(path, path.stat().st_size - 30, 1, judge) == NOTICED


def test_a_fetched_file_is_read_again() -> None:
    path = STORE / "files/some/file"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"fetched " * 50)
    for like in ("", "0" * 40):
        found = Fetched(None, (StoredFile("file", "files/some/file", 400, digest_of(path, like)),))
        assert is_whole(found)
        assert flipped(path, 300, 0, lambda found=found: str(is_whole(found))) == "False"
