"""Models with prompts of their own, as commands and the report show them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Vouch, flat, lay_out
from tests.cli.scored import build
from tests.report.project import SCORING, parts
from tools.first_tokens import questions
from vouch.pipeline.yaml12 import load as load_yaml
from vouch.report.caveats import own_prompts
from vouch.report.loading import load
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.tables.asked import PROMPTS, prompts_path, prompts_schema

ITEM = ("item", "kite-004", "--dataset", "left")
SAID = (
    "On left, tiny_b (template kostumov_yi) was asked with its own prompt: a difference to another model is one of "
    "model and prompt together."
)
NOTE = "tiny_b: asked with its own prompt (template kostumov_yi)"


def _own(row: dict[str, Any]) -> dict[str, Any]:
    own = {"models": ["tiny_b"], "template": "kostumov_yi", "system": "Be kind.", "turns": []}
    return own | {"text": f"Please: {row['variation']}", "response": None}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored project, in which tiny_b has a prompt of its own on left."""
    folder = tmp_path_factory.mktemp("own")
    lay_out(folder)
    params = load_yaml(folder / "params.yaml")
    params["datasets"]["left"]["variants"] = {"tiny_b": "yi"}
    (folder / "params.yaml").write_text(json.dumps(params), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build(folder)
        path = prompts_path("left")
        rows = PROMPTS.read(path).to_pylist()
        with PROMPTS.writer(path, prompts_schema(False, model_prompts=True)) as table:
            for row in rows:
                table.row(row | {"model_prompts": [_own(row)]})
    return folder


@pytest.fixture(autouse=True)
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def test_an_item_shows_what_each_model_was_asked(vouch: Vouch) -> None:
    both, own, other = (
        vouch(*ITEM, "--detail", *words) for words in ((), ("--model", "tiny_b"), ("--model", "tiny_a"))
    )
    asked = "prompt original, as asked:\n"
    assert f"{asked}  | ?\n  {NOTE}\n  system:\n  | Be kind.\n  user:\n  | Please: original\n" in both
    assert f"{asked}  {NOTE}\n  system:\n" in own and "| ?" not in own
    assert f"{asked}  | ?\nprompt ls_n: the words of the original\n" in other and "Be kind" not in other
    assert "prompt ls_n, as asked" in both and "prompt ls_n, as asked" in own
    assert NOTE not in vouch(*ITEM)


def test_items_as_json(vouch: Vouch) -> None:
    def prompts(*words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(vouch(*ITEM, "--json", *words))["prompts"]
        return found

    assert [row["model_prompts"] for row in prompts()] == [[_own(row)] for row in prompts()]
    for model, text, template in (("tiny_a", "?", "plain"), ("tiny_b", "Please: original", "kostumov_yi")):
        first = prompts("--model", model)[0]
        assert (first["text"], first["template"], "model_prompts" in first) == (text, template, False)


def test_a_difference_is_said_to_be_one_of_model_and_prompt(vouch: Vouch) -> None:
    for words in (("show",), ("compare", "tiny_a", "tiny_b"), ("compare", "tiny_b", "tiny_a")):
        assert flat(vouch(*words)).count(SAID) == 1
    assert SAID not in flat(vouch("compare", "tiny_a", "tiny_b", "--dataset", "right"))
    evidence = load(
        Path("data").rglob("*.parquet"), SCORING, {"datasets": load_yaml(Path("params.yaml"))["datasets"]}
    )
    assert list(VERDICT_SECTION.build(evidence).warnings) == [SAID]
    of = {part.title: part.sentences for part in parts(RESULTS_SECTION.build(evidence))}
    assert of["left"].count(SAID) == 1 and SAID not in of["right"]


def test_models_that_are_asked_alike_need_no_warning() -> None:
    def said(*models: str, **variants: str | None) -> list[str]:
        entry = {"template": "t", "variant": "v", "variants": variants}
        return own_prompts({name: {(m, name, "text") for m in models} for name in "xy"}, {"x": entry})

    assert said("a", "b") == said("a", "b", a="v") == said("a", "b", a="w", b="w") == said("a", c="w") == []
    assert said("a", "b", a="w", b=None) == [
        "On x, a (template t_w) and b (template t) were asked with their own prompts: a difference to another "
        "model is one of model and prompt together."
    ]


def test_other_readers_of_prompts_take_those_of_the_model(vouch: Vouch, tmp_path: Path) -> None:
    for model, text, system in (("tiny_a", "?", None), ("tiny_b", "Please: original", "Be kind.")):
        log = tmp_path / f"{model}.jsonl"
        vouch("publish", "export", model, "left", "--form", "lm_eval", "--out", log)
        line = json.loads(log.read_text("utf-8").splitlines()[0])
        assert line["arguments"]["gen_args_0"]["arg_0"] == text
        ((question, _),) = questions("left", model, 1)
        assert (question.text, question.system) == (text, system)
