"""The simulated outputs that benchmarks/runners.py measures on: both runners take them for fresh."""

from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import Any

import dvc.output
import pytest
from dvc.lock import Lock

from benchmarks._matrix import matrix
from vouch.cli.main import main
from vouch.pipeline.runners import HOST


def test_a_simulated_matrix_is_fresh_for_both_runners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = matrix(tmp_path / "one", models=2, datasets=2)
    count = len(checkout.names())
    (checkout.path / ".dvc.lock.1.part").write_text("of one that was killed")
    outs = [path for path in (checkout.path / "data").rglob("*") if path.is_file()]
    before = [path.stat().st_ino for path in outs]
    (checkout.path / ".dvc/tmp").mkdir(exist_ok=True)
    with Lock(str(checkout.path / ".dvc/tmp/lock")):
        busy = checkout.store("sync", check=False)
    assert busy.returncode == 1 and busy.stderr == (
        "vouch: dvc.lock: another DVC command is at work; wait until it ends, then sync again\n"
    )
    hashed, build = Counter[str](), dvc.output.build

    def counting(odb: Any, path: str, *rest: Any, **more: Any) -> Any:
        hashed[path] += bool(more.get("dry_run"))
        return build(odb, path, *rest, **more)

    monkeypatch.setattr("dvc.output.build", counting)
    with chdir(checkout.path):
        assert main(["store", "sync"]) == 0
    said = f"sync: {count} of {count} stages are up to date ({count} newly recorded)\n"
    assert capsys.readouterr().out == said
    assert set(hashed.values()) == {0, 1}, "a folder that many stages read is hashed once"
    assert [path.stat().st_ino for path in outs] == before, "a kill would have left none in their place"
    assert not list(checkout.path.glob(".*.part"))
    assert checkout.dvc_status() == {}
    assert checkout.planned() == set()
    assert not (checkout.path / HOST).exists(), "a dry run claims the checkout for Snakemake"
