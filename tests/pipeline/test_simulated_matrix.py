"""The simulated outputs that benchmarks/engines.py measures on: both engines take them for fresh."""

from pathlib import Path

from benchmarks._matrix import matrix
from stages.runtime.engines import HOST


def test_a_simulated_matrix_is_fresh_for_both_engines(tmp_path: Path) -> None:
    checkout = matrix(tmp_path / "one", models=2, datasets=2)
    count = len(checkout.names())
    done = checkout.vouch("sync")
    assert done.stdout == f"sync: {count} of {count} stages fit their records, {count} newly recorded\n"
    assert checkout.dvc_status() == {}
    assert checkout.planned() == set()
    assert not (checkout.path / HOST).exists(), "a dry run claims the checkout for Snakemake"
