"""params.yaml checked as a whole: what an entry of a dataset may say beside its source."""

import re
from pathlib import Path
from typing import Any

import pytest

from vouch.cli.entries import with_defaults
from vouch.params.check import TRAINED, WRITTEN, check_params
from vouch.params.defaults import NAMED, OF_ENTRY, left_out
from vouch.params.project import Models, Project
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import load, loads

ROOT = Path(__file__).parents[2]


def checked(**entry: Any) -> Any:
    """The entry `left` of the profile `small` with more keys, validated."""
    values = load(ROOT / "profiles/small.yaml")
    values["datasets"]["left"] |= entry
    return check_params(values, "params.yaml").datasets["left"]


def test_an_entry_may_name_variations_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert checked().variations is None and checked().rows == "all"
    entry = checked(variations=["vs_s", "ls_n+vr_b_2"], rows="exchangeable")
    assert entry.variations == ["vs_s", "ls_n+vr_b_2"] and entry.rows == "exchangeable"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"variations": ["vs_q"]}, "datasets.left.variations: unknown variation vs_q; did you mean vs_"),
        ({"variations": ["vr_b", "vr_b_3"]}, "datasets.left.variations: vr_b_3 is the same as vr_b"),
        ({"variations": ["vr_b", "vr_b"]}, "datasets.left.variations: vr_b stands twice"),
        ({"variations": []}, "datasets.left.variations: List should have at least 1 item"),
        ({"variations": "vr_b"}, "datasets.left.variations: "),
        ({"variations": ["vr_b+"]}, "unknown variation ; valid"),
        ({"rows": "some"}, "datasets.left.rows: Input should be 'all' or 'exchangeable', found 'some'"),
        ({"loader": "x" * 99}, f"datasets.left.loader: unknown name {'x' * 60}; valid: "),
        ({"variant": "x" * 99}, f"no variant {'x' * 60}; valid: "),
        ({"variations": ["x" * 99]}, f"unknown variation {'x' * 60}; valid: "),
        ({"row": "all"}, "unknown key datasets.left.row; did you mean rows? valid: "),
    ],
)
def test_what_an_entry_may_not_say(monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any], said: str) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError) as error:
        checked(**entry)
    assert said in str(error.value) and str(error.value).startswith("params.yaml: ")


@pytest.mark.parametrize(
    ("section", "values", "said"),
    [
        ("score", {"alpha": 0}, "score.alpha: Input should be greater than 0, found '0'"),
        ("score", {"alpha": [0.1, float("nan")]}, "score.alpha.1: Input should be a finite number"),
        (
            "train",
            {"m": {"target": float("inf")}},
            "train.m.target: Input should be a finite number, found inf",
        ),
        (
            "score",
            {"settings": {"raps": {"penalty": 1e308}}},
            "score.settings.raps.penalty: Input should be less",
        ),
        (
            "score",
            {"settings": {"saps": {"penalty": 1e308}}},
            "score.settings.saps.penalty: Input should be less",
        ),
        (
            "score",
            {"judge": {"model": "tiny"}},
            "score.judge.model (models and helpers): unknown name tiny; did you mean tiny_",
        ),
        ("score", {"scores": ["x" * 99]}, f"score.scores: unknown name {'x' * 60}; valid: "),
        ("score", {"x" * 99: 1}, f"unknown key score.{'x' * 60}; valid: "),
        ("score", {"alpha": []}, "score.alpha: List should have at least 1 item"),
        (
            "score",
            {"answers": {"lfet": ["anls"]}},
            "score.answers: unknown name lfet; did you mean left? valid: left, right",
        ),
        ("extract", {"bathc": 1, "batch": 0}, "unknown key extract.bathc; did you mean batch? valid: "),
    ],
)
def test_a_wrong_value_is_one_problem_under_its_key(
    monkeypatch: pytest.MonkeyPatch, section: str, values: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(ROOT)
    project = load(ROOT / "profiles/small.yaml")
    project[section] |= values
    with pytest.raises(UserError) as error:
        check_params(project, "params.yaml")
    line, *others = str(error.value).splitlines()
    assert (line if not others else f"params.yaml: {others[0][4:]}").startswith(f"params.yaml: {said}")
    assert bool(others) == ("batch" in values)


@pytest.mark.parametrize("source", [".", "..", "/", "stages/.."])
def test_a_dataset_does_not_lie_around_the_project(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError, match=r"^params\.yaml: datasets\.left\.source: holds this project; "):
        checked(source=source)


@pytest.mark.parametrize(
    "source", [".", "/", "data", "data/models", "reports/items", ".dvc", "data/trained/.."]
)
@pytest.mark.parametrize("place", ["models", "helpers", "datasets"])
def test_no_source_is_the_project_or_what_it_writes(
    monkeypatch: pytest.MonkeyPatch, place: str, source: str
) -> None:
    """Before anything walks it: a model's folder is hashed, and `/` takes hours."""
    monkeypatch.chdir(ROOT)
    values = load(ROOT / "profiles/small.yaml")
    if place == "datasets":
        values["datasets"]["left"]["source"] = source
    else:
        values[place]["nope"] = source
    with pytest.raises(UserError) as refused:
        check_params(values, "params.yaml")
    key = "datasets.left.source" if place == "datasets" else f"{place}.nope"
    said = "holds this project" if source in (".", "/") else "is what this project writes"
    assert str(refused.value).startswith(f"params.yaml: {key}: ") and said in str(refused.value)


def test_every_output_but_the_demo_models_is_known_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outputs = list(map(Path, read_dag().maker))
    assert outputs
    assert not [path for path in outputs if not any(path.is_relative_to(n) for n in (*WRITTEN, TRAINED))]


HUGE = 10**40


@pytest.mark.parametrize(
    "key",
    ["seed", "width", "layers", "heads", "pictures", "batch", "read_steps", "name_steps", "choose_steps"],
)
def test_numbers_of_a_training_have_an_end(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.chdir(ROOT)
    values = load(ROOT / "profiles/demo.yaml")
    values["train"]["vouch_s"][key] = HUGE
    with pytest.raises(UserError) as error:
        check_params(values, "params.yaml")
    assert str(error.value).startswith(f"params.yaml: train.vouch_s.{key}: Input should be less than ")
    assert len(str(error.value)) < 200


def test_a_seed_of_scenes_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(
        UserError, match=r"^params\.yaml: datasets\.left\.settings: seed: Input should be less"
    ):
        checked(settings={"seed": HUGE, "items": 1})


def test_a_kind_of_source_is_quoted_in_part() -> None:
    entry = {"models": {"m": {"source": {"kind": "x" * 99}}}}
    with pytest.raises(UserError) as error:
        validated(Models, entry, "models.lock")
    assert "x" * 60 in str(error.value) and "x" * 61 not in str(error.value)


@pytest.mark.parametrize("name", ["my-kites", "Kites", "2kites", "my kites"])
def test_a_name_that_is_none_is_refused_in_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    values = load(ROOT / "profiles/small.yaml")
    values["datasets"][name] = values["datasets"].pop("left")
    with pytest.raises(UserError) as refused:
        check_params(values, "params.yaml")
    assert str(refused.value).startswith(
        f"params.yaml: datasets.{name}: a name is a lower-case letter, then lower-case letters, digits and _, "
        f"found {name!r}"
    )


def test_all_problems_of_a_file_are_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong values, unknown and missing keys together; names that are not known together."""
    monkeypatch.chdir(ROOT)
    values = load(ROOT / "profiles/small.yaml")
    wrong = values | {"score": {"alpha": 2, "splits": 0}, "comprae": {}, "browse": {"thumbnail": 1}}
    del wrong["compare"]
    with pytest.raises(UserError) as error:
        check_params(wrong, "params.yaml")
    head, *problems = str(error.value).splitlines()
    assert head == "params.yaml: 5 problems"
    assert problems == [
        "  - unknown key comprae; did you mean compare? " + problems[0].partition("? ")[2],
        "  - score.alpha: Input should be less than 1, found '2'",
        "  - score.splits: Input should be greater than or equal to 1, found '0'",
        "  - browse.thumbnail: Input should be greater than or equal to 16, found '1'",
        "  - key compare is missing; add `compare: {}`",
    ]
    values["datasets"]["left"] |= {"loader": "jsnol", "source": "data"}
    values["variations"] = ["orignal", "vr_b", "vr_b_3"]
    values["models"]["third"] = "models.lock"
    with pytest.raises(UserError) as error:
        check_params(values, "params.yaml")
    head, *problems = str(error.value).splitlines()
    assert head == "params.yaml: 5 problems"
    for problem, said in zip(
        problems,
        (
            "datasets.left.source: data/compare is what this project writes",
            "datasets.left.loader: unknown name jsnol; did you mean jsonl?",
            "variations: unknown variation orignal; did you mean original?",
            "variations: vr_b_3 is the same as vr_b",
            "models.third (entries of models.lock): unknown name third; valid: ",
        ),
        strict=True,
    ):
        assert problem.startswith(f"  - {said}")


def test_a_list_of_many_names_or_problems_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names = [f"name_{number:03d}" for number in range(100)]
    said = did_you_mean("nmae_042", names)
    assert said.startswith("did you mean name_042? valid: name_000, ") and said.endswith(
        "name_019 and 80 more"
    )
    values = load(ROOT / "profiles/small.yaml") | dict.fromkeys(names, 1)
    with pytest.raises(UserError) as error:
        check_params(values, "params.yaml")
    head, *problems = str(error.value).splitlines()
    assert head == "params.yaml: 100 problems" and len(problems) == 21 and problems[-1] == "  - and 80 more"


def test_only_data_and_models_have_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """What dvc.yaml names and a file lacks is told with its default, and nothing else is missing."""
    monkeypatch.chdir(ROOT)
    own = {"datasets": {"kites": {"source": "../kites"}}, "models": {"mine": "../my-weights"}}
    assert Project.model_validate(own).score.alpha == 0.1
    with pytest.raises(UserError, match=r"- key score is missing; add `score: {alpha: 0\.1}`\n") as error:
        check_params(own, "params.yaml")
    keys = [key for key, _ in left_out(own)]
    assert re.findall(r"- key (\S+) is missing", str(error.value)) == keys
    assert keys[-2:] == ["datasets.kites.loader", "datasets.kites.template"]
    text = with_defaults(
        "datasets: {kites: {source: ../kites}}\nmodels: {mine: ../my-weights}\nscore: {splits: 7}\n", "x"
    )
    values = loads(text, "x")
    assert check_params(values, "x") and read_dag(params=values).stages
    assert values["score"] == {"splits": 7, "alpha": 0.1} and with_defaults(text, "x") == text
    assert with_defaults((ROOT / "profiles/demo.yaml").read_text("utf-8"), "x") == (
        ROOT / "params.yaml"
    ).read_text("utf-8")


def test_the_keys_that_dvc_names_are_those_that_are_written_out() -> None:
    text = (ROOT / "dvc.yaml").read_text("utf-8")
    named = set(re.findall(r"\$\{([\w.]+)\}", text))
    stages = load(ROOT / "dvc.yaml")["stages"].values()
    named |= {key for stage in stages for key in (stage.get("do") or stage).get("params", ())}
    loops = ("item", "key", "datasets", "models", "helpers", "train")
    plain = {key for key in named if key.partition(".")[0] not in loops and "$" not in key}
    assert plain == {
        key for key in NAMED if key not in ("profile", "helpers", "train", "rewrite.rewriter")
    } - {"embed"} | {"rewrite.rewriter"}
    assert {f"item.{key}" for key in (*OF_ENTRY, "source")} <= named
