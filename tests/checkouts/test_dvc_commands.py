"""What people do with DVC's own commands: metrics, plots, experiments, the graph; and with `vouch show --rev`."""

import json
import re

import pytest

from tests.checkouts.checkout import ROOT, ran
from tests.checkouts.edits import FORMULA
from tests.checkouts.small import DATASETS, END, MODELS, SCORE

pytestmark = pytest.mark.slow
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def checkout(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("commands") / "one")


def test_metrics(checkout):
    """Few enough for a terminal: one model's, and those of each on demand. The first by name, since on 24
    questions none is the best."""
    shown = json.loads(checkout.dvc("metrics", "show", "--json").stdout)
    first = shown[""]["data"]["reports/headline.json"]["data"]
    whole = json.loads((checkout.path / "reports/metrics.json").read_text("utf-8"))
    assert set(whole) == set(DATASETS) and set(whole["left"]) == set(MODELS)
    assert first["accuracy"] == whole["left"][min(MODELS)]["accuracy"]
    folder = [f"reports/headline/{model}.json" for model in sorted(MODELS)]
    for target, files in ((), ["reports/headline.json"]), (("reports/headline",), folder):
        head, *lines = checkout.dvc("metrics", "show", *target).stdout.splitlines()
        assert [line.split()[0] for line in lines] == files
        assert head.split()[1] == "accuracy" and max(map(len, (head, *lines))) <= 80
    keep = ("--drop", ".*", "--keep", "Exp|acc|cov|set|ece")
    table = checkout.dvc("exp", "show", "--no-pager", *keep).stdout
    assert "accuracy" in table and f"{first['accuracy']:.5g}" in table
    assert max(map(len, table.splitlines())) <= 80


def test_an_experiment_changes_scores_only_and_is_compared(checkout):
    lock = checkout.path / "dvc.lock"
    mine = lock.read_text("utf-8")
    same = checkout.vouch("show", "--rev", "HEAD").stdout
    assert re.search(r"^(\d+) of \1 lines are unchanged$", same, re.M)
    still = checkout.vouch("report", "--against", "HEAD").stdout
    assert "Nothing moved" in still and "outputs with other bytes: 0 of " in still
    assert ran(checkout.dvc("exp", "run", "-S", "score.alpha=0.4").stdout) == SCORE | END
    assert checkout.planned() == set()
    changed = json.loads(checkout.dvc("metrics", "diff", "--json").stdout)["reports/headline.json"]
    assert changed.keys() & {"set_size", "coverage"}
    assert "accuracy" not in changed
    assert "alpha: 0.4" in (checkout.path / "params.yaml").read_text("utf-8")
    shown = checkout.vouch("show", "--rev", "HEAD").stdout
    assert re.search(r"tiny_a +0\.\d+ +[^( ].*\([-+]\d+\.\d+\)", shown), "accuracy stays, set sizes do not"
    against = checkout.vouch("report", "--against", "HEAD").stdout
    assert "params.yaml: score.alpha differs\n" in against and "models.lock: the same\n" in against
    assert re.search(r"^  Set size LAC +\d\.\d{3} +\d\.\d{3} +[-+]\d\.\d{3} ", against, re.M)
    assert "answers changed" not in against
    page = (checkout.path / "build/against/index.html").read_text("utf-8")
    assert "<h1>What moved</h1>" in page and ">score.alpha<" in page
    (undone,) = re.findall(r"`(git checkout [^`]+)` and `dvc repro` undo it", README)
    checkout.run(*undone.split())
    assert checkout.repro() == set(), "what was computed before comes from the cache"
    assert lock.read_text("utf-8") == mine
    assert checkout.dvc("metrics", "diff").stdout.strip() == ""


def test_a_revision_that_is_not_there(checkout):
    for words in (("show", "--rev"), ("report", "--against")):
        wrong = checkout.vouch(*words, "nowhere", check=False)
        assert wrong.returncode == 1 and "nowhere" in wrong.stderr and wrong.stderr.count("\n") == 1


def test_plots_need_no_network(checkout):
    out = checkout.dvc("plots", "show", "-o", "plots-page").stdout
    assert "file://" in out
    page = (checkout.path / "plots-page/index.html").read_text("utf-8")
    assert "vegaEmbed" in page and page.count("tiny_a") > 0
    for tag in re.findall(r"<(?:script|link)[^>]*>", page):
        assert "http" not in tag, tag


def test_graph(checkout):
    out = checkout.dvc("dag", "--dot").stdout
    assert re.search(r'"extract@tiny_a-left"\s*->\s*"score@left"', out)


def test_dvc_runs_exactly_this(checkout):
    """It stops where an output came out the same; Snakemake would go on (test_runners.py)."""
    FORMULA.make(checkout)
    assert checkout.planned() == FORMULA.below, "snakemake -n right after the edit"
    assert checkout.repro() == FORMULA.stale | FORMULA.whole
    assert checkout.planned() == set() and checkout.dvc_status() == {}
