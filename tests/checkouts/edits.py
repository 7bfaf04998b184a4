"""One edit at a time: exactly which stages each engine runs, in both orders of the engines.

DVC stops where an output came out the same; Snakemake runs all that is downstream of what it runs.
"""

from collections.abc import Callable

from tests.checkouts.checkout import Checkout

Edit = Callable[[Checkout], None]
Copies = tuple[Checkout, Checkout]


def comment(file: str) -> Edit:
    def edit(checkout: Checkout) -> None:
        path = checkout.path / file
        path.write_text(path.read_text("utf-8") + "\n# a remark\n", "utf-8")

    return edit


def replace(file: str, old: str, new: str) -> Edit:
    return lambda checkout: checkout.edit(file, old, new)


def raise_revision(checkout: Checkout) -> None:
    path = checkout.path / "vouch/models/engines/transformers.py"
    line = next(line for line in path.read_text("utf-8").splitlines() if line.startswith("REVISION"))
    checkout.edit("vouch/models/engines/transformers.py", line, "REVISION = 999")


def runs_exactly(copies: Copies, edit: Edit, by_dvc: set[str], by_snakemake: set[str]) -> None:
    """Makes the edit in both copies, runs each by both engines, and looks what ran at every step."""
    dvc_first, snakemake_first = copies
    edit(dvc_first)
    assert dvc_first.planned() == by_snakemake, "snakemake -n right after the edit"
    before = (dvc_first.path / "dvc.lock").read_text("utf-8")
    refused = dvc_first.vouch("store", "sync", check=False)
    assert (refused.returncode != 0) == bool(by_dvc), refused.stdout + refused.stderr
    assert (dvc_first.path / "dvc.lock").read_text("utf-8") == before, "sync blessed something stale"
    assert dvc_first.repro() == by_dvc
    assert dvc_first.planned() == set(), "snakemake -n after dvc repro"
    assert dvc_first.dvc_status() == {}

    edit(snakemake_first)
    started = receipts(snakemake_first)
    snakemake_first.snakemake()
    assert changed(started, receipts(snakemake_first), snakemake_first) == by_snakemake
    assert snakemake_first.dvc_status() == {}
    assert snakemake_first.repro() == set()
    assert snakemake_first.digests() == dvc_first.digests()


def receipts(checkout: Checkout) -> dict[str, int]:
    folder = checkout.path / ".vouch/receipts"
    return {path.stem: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def changed(before: dict[str, int], after: dict[str, int], checkout: Checkout) -> set[str]:
    names = checkout.names()
    return {names[slug] for slug, when in after.items() if before.get(slug) != when}
