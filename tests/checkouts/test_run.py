"""`vouch run` on released answers: what DVC would make, in one process and recorded once."""

import json
from pathlib import Path

import pytest

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import small

pytestmark = pytest.mark.slow
MODELS = ("first", "second")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Yes/no questions without pictures, and a table of two models' answers."""
    root = tmp_path_factory.mktemp("run")
    (root / "pope").mkdir()
    lines = [
        {"id": n, "question": "Is there a dog?", "options": ["Yes", "No"], "answer": n % 2} for n in range(40)
    ]
    (root / "pope/items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    answer(root, "first", "second")
    made = Checkout(root / "one")
    pope = {"loader": "jsonl", "source": "../pope", "template": "tu_choice"}
    text = small(train=(), models=dict.fromkeys(MODELS, "../answers"), datasets={"pope": pope})
    (made.path / "params.yaml").write_text(text, "utf-8")
    made.set("variations", ["original"])
    made.commit("two models")
    return made


def answer(root: Path, *models: str) -> None:
    """Every third answer is wrong, and every tenth of the second model says nothing."""
    texts = {"first": ["Yes", "No"], "second": ["(A)", "(B)"]}
    lines = [
        [str(n), "Hmm" if name == "second" and n % 10 == 0 else texts[name][(n + (n % 3 == 0)) % 2], name]
        for name in models
        for n in range(40)
    ]
    (root / "answers").mkdir(exist_ok=True)
    cells = "".join(",".join(line) + "\n" for line in [["id", "text", "model"], *lines])
    (root / "answers/pope.csv").write_text(cells, "utf-8")


def test_what_is_asked_for_is_made_with_what_it_needs_and_both_runners_know(checkout: Checkout) -> None:
    done = checkout.stages("score@first")
    assert done.stdout == "run: 6 of 6 stages made, the others were up to date; 6 recorded\n"
    assert not (checkout.path / "data/scores/second.metrics.parquet").exists()
    done = checkout.stages("score")
    assert done.stdout == "run: 3 of 9 stages made, the others were up to date; 3 recorded\n"
    assert checkout.stages("score").stdout.startswith("run: 0 of 9 stages made")
    made = {"prepare@pope", "rewrite@pope", "vary@pope"}
    made |= {stage for name in MODELS for stage in (f"pin@{name}", f"extract@{name}-pope", f"score@{name}")}
    assert not made & {*checkout.dvc_status(), *checkout.stale()}


def test_the_rest_has_what_pope_has(checkout: Checkout) -> None:
    checkout.stages()
    assert checkout.dvc_status() == {} and checkout.planned() == set() and checkout.repro() == set()
    found = json.loads((checkout.path / "reports/metrics.json").read_text("utf-8"))["pope"]
    assert found["first"]["accuracy"] == pytest.approx(26 / 40)
    assert found["second"]["unparsed_rate"] == pytest.approx(0.1)
    assert 0 < found["first"]["f1"] < 1 and found["first"]["yes_rate"] == pytest.approx(0.5, abs=0.05)


def test_what_is_finished_is_recorded_where_a_stage_fails(checkout: Checkout) -> None:
    answer(checkout.path.parent, "first")
    done = checkout.stages("score", check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "vouch: ../answers/pope.csv: holds no answers of second, only"
    )
    assert "pin@second" not in checkout.dvc_status() and "extract@second-pope" in checkout.stale()
    answer(checkout.path.parent, *MODELS)
    checkout.stages()
    assert checkout.dvc_status() == {}


def test_an_unknown_stage_is_one_line(checkout: Checkout) -> None:
    done = checkout.stages("scores", check=False)
    assert done.returncode == 1 and done.stderr == "vouch: vouch run: no stage scores; did you mean score?\n"
