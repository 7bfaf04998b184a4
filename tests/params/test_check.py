"""params.yaml checked as a whole: what an entry of a dataset may say beside its source."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from vouch.cli.use import as_params
from vouch.datasets.fetch.origin import Origin
from vouch.datasets.loaders import scienceqa, table
from vouch.models.lock_entry import LockEntry
from vouch.params.check import check_params
from vouch.params.project import NAMED, OF_ENTRY, Models, Project, left_out
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.validation import parsed, validated
from vouch.pipeline.yaml12 import load, loads

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The profile `small`; the present folder is the checkout."""
    monkeypatch.chdir(ROOT)
    values: dict[str, Any] = load(ROOT / "profiles/small.yaml")
    return values


def refusal(values: Any) -> str:
    """What is said of a params file behind its name."""
    with pytest.raises(UserError) as error:
        check_params(values, "params.yaml")
    name, _, problem = str(error.value).partition(": ")
    assert name == "params.yaml"
    return problem


def test_an_entry_may_name_variations_and_rows(small: dict[str, Any]) -> None:
    def checked(**entry: Any) -> Any:
        small["datasets"]["left"] |= entry
        return check_params(small, "params.yaml").datasets["left"]

    assert checked().variations is None and checked().rows == "all"
    assert checked(variants={"tiny_a": "yi", "tiny_b": None}).variants == {"tiny_a": "yi", "tiny_b": None}
    entry = checked(variations=["vs_s", "ls_n+vr_b_2"], rows="exchangeable")
    assert entry.variations == ["vs_s", "ls_n+vr_b_2"] and entry.rows == "exchangeable"


def test_outputs_are_those_of_the_entry_the_profile_or_the_template(small: dict[str, Any]) -> None:
    assert check_params(small, "params.yaml").outputs is None
    small["outputs"] = ["letters", "text"]
    small["datasets"]["left"]["outputs"] = ["text"]
    project = check_params(small, "params.yaml")
    assert (project.outputs, project.datasets["left"].outputs) == (["letters", "text"], ["text"])
    small["datasets"]["left"] |= {"outputs": None, "template": "reform_vqa", "variant": "likelihood"}
    assert "outputs (for datasets.left): names letters, but template reform_vqa shows" in refusal(small)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"variations": ["vs_q"]}, "datasets.left.variations: unknown variation vs_q; did you mean vs_"),
        ({"variations": ["vr_b", "vr_b_3"]}, "datasets.left.variations: vr_b_3 is the same as vr_b"),
        ({"variations": ["vr_b", "vr_b"]}, "datasets.left.variations: vr_b is a duplicate"),
        ({"variations": []}, "datasets.left.variations: Input should have 1 or more entries"),
        ({"variations": "vr_b"}, "datasets.left.variations: "),
        (
            {"outputs": ["leters"]},
            "datasets.left.outputs.0: Input should be 'letters', 'likelihood' or 'text'",
        ),
        ({"outputs": []}, "datasets.left.outputs: Input should have 1 or more entries"),
        ({"outputs": ["text", "text"]}, "datasets.left.outputs: text is a duplicate; name it once"),
        (
            {"outputs": ["letters"], "template": "reform_vqa", "variant": "likelihood"},
            "datasets.left.outputs: names letters, but template reform_vqa shows no options",
        ),
        ({"variants": {"tiny": "yi"}}, "datasets.left.variants: unknown name tiny; did you mean tiny_"),
        (
            {"variants": {"tiny_a": "yy"}},
            "datasets.left.variants.tiny_a: vouch/prompts/templates/kostumov.yaml: no ",
        ),
        ({"variants": ["yi"]}, "datasets.left.variants: Input should be a mapping"),
        (
            {"template": "azad_ai2d", "variants": {"tiny_a": "likelihoods"}},
            "variants.tiny_a: all models are asked with `likelihoods`, or none; write it in `variant`",
        ),
        (
            {"template": "azad_ai2d", "variant": "likelihoods", "variants": {"tiny_a": None}},
            "variants.tiny_a: all models are asked with `likelihoods`, or none; write it in `variant`",
        ),
        ({"variations": ["vr_b+"]}, "unknown variation ; valid"),
        ({"rows": "some"}, "datasets.left.rows: Input should be 'all' or 'exchangeable', found 'some'"),
        ({"loader": "x" * 99}, f"datasets.left.loader: unknown name {'x' * 60}; valid: "),
        ({"variant": "x" * 99}, f"no variant {'x' * 60}; valid: "),
        ({"variations": ["x" * 99]}, f"unknown variation {'x' * 60}; valid: "),
        ({"row": "all"}, "unknown key datasets.left.row; did you mean rows? valid: "),
        ({"source": "hub:o/n"}, "give source: vouch/datasets/fetch, and origin: {hub: o/n, split: test}"),
    ],
)
def test_what_an_entry_may_not_say(small: dict[str, Any], entry: dict[str, Any], message: str) -> None:
    small["datasets"]["left"] |= entry
    assert message in refusal(small)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("score", {"alpha": 0}, "score.alpha: Input should be greater than 0, found 0"),
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
        (
            "score",
            {"other_spelling": ["tiny"]},
            "score.other_spelling (models, helpers, models.lock): unknown name tiny; did you mean tiny_",
        ),
        ("score", {"scores": ["x" * 99]}, f"score.scores: unknown name {'x' * 60}; valid: "),
        ("score", {"x" * 99: 1}, f"unknown key score.{'x' * 60}; valid: "),
        ("score", {"alpha": []}, "score.alpha: Input should have 1 or more entries"),
        (
            "score",
            {"answers": {"lfet": ["anls"]}},
            "score.answers: unknown name lfet; did you mean left? valid: left, right",
        ),
        (
            "score",
            {"answers": {"left": ["rouge_l", "bleu_1"]}},
            "score.answers.left: all questions of left have options, so rouge_l, bleu_1 would grade nothing; "
            "remove left from score.answers",
        ),
        (
            "extract",
            {"sampling": [{"temperature": 1.00000001, "samples": 1}, {"temperature": 1, "samples": 1}]},
            "extract.sampling.0.temperature: has more than 4 decimals; round it",
        ),
        (
            "extract",
            {"sampling": [{"temperature": 1e-46, "samples": 1}]},
            "extract.sampling.0.temperature: Input should be greater than or equal to 0.0001",
        ),
        (
            "extract",
            {"sampling": [{"temperature": 1, "samples": 1, "datasets": ["left", "left"]}]},
            "extract.sampling.0.datasets: left is a duplicate; name it once",
        ),
        (
            "extract",
            {
                "datasets_of": {"tiny_a": ["left"]},
                "sampling": [{"temperature": 1, "samples": 1, "models": ["tiny_a"], "datasets": ["right"]}],
            },
            "extract.sampling.0: no model is asked such a prompt; name models, datasets and variations that",
        ),
        ("extract", {"bathc": 1, "batch": 0}, "unknown key extract.bathc; did you mean batch? valid: "),
    ],
)
def test_a_wrong_value_is_one_problem_under_its_key(
    small: dict[str, Any], section: str, values: dict[str, Any], message: str
) -> None:
    small[section] |= values
    line, *others = refusal(small).splitlines()
    assert (others[0].removeprefix("  - ") if others else line).startswith(message)
    assert bool(others) == ("batch" in values)


MAPPING, LIST = (
    "Input should be a mapping, such as `key: value`",
    "Input should be a list, such as `[one, two]`",
)
TEXT = "Input should be text (a number needs quotes)"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("score", [1], f"{MAPPING}, found [1]"),
        ("score", None, f"{MAPPING}, found null"),
        ("datasets.left", "../kites", f"{MAPPING}, found '../kites'"),
        ("models", ["a"], f"{MAPPING}, found ['a']"),
        ("datasets", {}, "Input should have 1 or more entries, found {}"),
        ("variations", "original", f"{LIST}, found 'original'"),
        ("variations.0", 1, f"{TEXT}, found 1"),
        (
            "variations.0",
            "A b",
            "a name is a lower-case letter, then lower-case letters, digits and _; `+` joins",
        ),
        ("models.tiny_a", 3, f"{TEXT}, found 3"),
        ("models.tiny_a", "", "Input should have at least one character, and none that cannot be printed"),
        ("score.splits", "100", "Input should be a whole number, without quotes, found '100'"),
        ("score.splits", 1.5, "Input should be a whole number, without quotes, found 1.5"),
        ("score.alpha", "0.1", "Input should be a number, without quotes, found '0.1'"),
        ("browse.images", "yes", "Input should be true or false, without quotes, found 'yes'"),
        ("extract.batch", True, "Input should be a whole number, without quotes, found true"),
    ],
)
def test_a_value_of_another_form_is_refused_in_words_of_yaml(
    small: dict[str, Any], key: str, value: object, message: str
) -> None:
    level: Any = small
    *parents, last = key.split(".")
    for name in parents:
        level = level[name]
    level[int(last) if isinstance(level, list) else last] = value
    assert refusal(small).startswith(f"{key}: {message}")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x", f"{MAPPING}, found 'x'"),
        ({}, "Input should have the key 'kind', found {}"),
        ({"kind": "hb"}, "'kind' should be one of 'folder', 'hub', 'server', found 'hb'"),
    ],
)
def test_a_source_of_another_form_is_refused_in_words_of_yaml(source: object, message: str) -> None:
    with pytest.raises(UserError) as error:
        validated(Models, {"models": {"m": {"source": source}}}, "models.lock")
    assert str(error.value) == f"models.lock: models.m.source: {message}"


@pytest.mark.parametrize(
    "source", [".", "..", "/", "stages/..", "data", "data/models", "reports/items", ".dvc", "data/trained/.."]
)
@pytest.mark.parametrize("section", ["models", "helpers", "datasets"])
def test_no_source_is_the_project_or_what_it_writes(small: dict[str, Any], section: str, source: str) -> None:
    """Before anything walks it: a model's folder is hashed, and `/` takes hours."""
    if section == "datasets":
        small["datasets"]["left"]["source"] = source
    else:
        small[section]["left"] = source
    around = source in (".", "..", "/", "stages/..")
    message = refusal(small)
    assert message.startswith(f"{section}.left{'.source' if section == 'datasets' else ''}: ")
    assert ("holds this project" if around else "is written by this project") in message


HUGE = 10**40


@pytest.mark.parametrize(
    "key",
    ["seed", "width", "layers", "heads", "pictures", "batch", "read_steps", "name_steps", "choose_steps"],
)
def test_numbers_of_a_training_have_an_end(key: str) -> None:
    values = load(ROOT / "profiles/demo.yaml")
    values["train"]["vouch_s"][key] = HUGE
    message = refusal(values)
    assert message.startswith(f"train.vouch_s.{key}: Input should be less than ") and len(message) < 200


def test_a_seed_of_scenes_has_an_end(small: dict[str, Any]) -> None:
    small["datasets"]["left"]["settings"] = {"seed": HUGE, "items": 1}
    assert refusal(small).startswith("datasets.left.settings: seed: Input should be less")


def test_a_kind_of_source_is_quoted_in_part() -> None:
    entry = {"models": {"m": {"source": {"kind": "x" * 99}}}}
    with pytest.raises(UserError) as error:
        validated(Models, entry, "models.lock")
    assert "x" * 60 in str(error.value) and "x" * 61 not in str(error.value)


@pytest.mark.parametrize("name", ["my-kites", "Kites", "2kites", "my kites"])
def test_a_name_that_is_none_is_refused_in_words(small: dict[str, Any], name: str) -> None:
    small["datasets"][name] = small["datasets"].pop("left")
    assert refusal(small).startswith(
        f"datasets.{name}: a name is a lower-case letter, then lower-case letters, digits and _, found {name!r}"
    )


def test_all_problems_of_a_file_are_one_list(small: dict[str, Any]) -> None:
    """Wrong values, unknown and missing keys together; names that are not known together."""
    wrong = small | {"score": {"alpha": 2, "splits": 0}, "comprae": {}, "browse": {"thumbnail": 1}}
    del wrong["compare"]
    head, *problems = refusal(wrong).splitlines()
    assert head == "5 problems"
    assert problems == [
        "  - unknown key comprae; did you mean compare? " + problems[0].partition("? ")[2],
        "  - score.alpha: Input should be less than 1, found 2",
        "  - score.splits: Input should be greater than or equal to 1, found 0",
        "  - browse.thumbnail: Input should be greater than or equal to 16, found 1",
        "  - key compare is missing; add `compare: {}`",
    ]
    small["datasets"]["left"] |= {"loader": "jsnol", "source": "data"}
    small["variations"] = ["orignal", "vr_b", "vr_b_3"]
    small["models"]["third"] = "models.lock"
    head, *problems = refusal(small).splitlines()
    assert head == "5 problems"
    for problem, message in zip(
        problems,
        (
            "datasets.left.source: data/compare is written by this project",
            "datasets.left.loader: unknown name jsnol; did you mean jsonl?",
            "variations: unknown variation orignal; did you mean original?",
            "variations: vr_b_3 is the same as vr_b",
            "models.third (entries of models.lock): unknown name third; valid: ",
        ),
        strict=True,
    ):
        assert problem.startswith(f"  - {message}")


def test_a_list_of_many_names_or_problems_has_an_end(small: dict[str, Any]) -> None:
    names = [f"name_{number:03d}" for number in range(100)]
    message = did_you_mean("nmae_042", names)
    assert message.startswith("did you mean name_042? valid: name_000, ") and message.endswith(
        "name_019 and 80 more"
    )
    head, *problems = refusal(small | dict.fromkeys(names, 1)).splitlines()
    assert head == "100 problems" and len(problems) == 21 and problems[-1] == "  - and 80 more"


def test_only_data_and_models_have_no_default() -> None:
    """What dvc.yaml names and a file lacks is told with its default, and nothing else is missing."""
    entry = {"source": "../kites", "template": "plain"}
    own = {"datasets": {"kites": entry}, "models": {"mine": "../my-weights"}}
    assert Project.model_validate(own).score.alpha == 0.1
    message = refusal(own)
    assert "- key score is missing; add `score: {alpha: 0.1}`\n" in message
    keys = [key for key, _ in left_out(own)]
    assert re.findall(r"- key (\S+) is missing", message) == keys
    assert keys[-1] == "datasets.kites.loader"
    text = as_params(
        "datasets: {kites: {source: ../kites, template: plain}}\nmodels: {mine: ../my-weights}\nscore: {splits: 7}\n",
        "x",
    )
    values = loads(text, "x")
    assert check_params(values, "x") and read_dag(params=values).stages
    assert values["score"] == {"splits": 7, "alpha": 0.1} and as_params(text, "x") == text
    assert as_params((ROOT / "profiles/demo.yaml").read_text("utf-8"), "x") == (
        ROOT / "params.yaml"
    ).read_text("utf-8")


def test_a_fault_of_the_whole_profile_is_one_line(small: dict[str, Any]) -> None:
    small["outputs"] = ["text", "letters", "text"]
    assert refusal(small) == "outputs: text is a duplicate; name it once"


@pytest.mark.parametrize("key", ["outputs", "score", "score.alpha", "datasets"])
def test_the_dag_of_a_file_that_lacks_a_key_names_the_command_that_writes_it(key: str) -> None:
    """As params.yaml of an older checkout does."""
    values = load(ROOT / "params.yaml")
    section, _, inner = key.partition(".")
    del (values[section] if inner else values)[inner or section]
    with pytest.raises(
        UserError, match=re.escape("} has no value; define it in params.yaml, or run `vouch use")
    ):
        read_dag(params=values)


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
    assert {f"item.{key}" for key in (*OF_ENTRY, "source", "template")} <= named


def test_a_template_is_chosen_by_the_user() -> None:
    """None is the default: some add options that nobody wrote."""
    small = load(ROOT / "profiles/small.yaml")
    small["datasets"]["left"].pop("template")
    message = refusal(small)
    assert (
        "key datasets.left.template is missing; add it: `plain` asks with the options as they are" in message
    )
    for path in (ROOT / "params.yaml", *sorted((ROOT / "profiles").glob("*.yaml"))):
        assert all("template" in entry for entry in load(path)["datasets"].values()), path


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("outputs", "text"),
        ("variations", "original"),
        ("datasets.left.outputs", "text"),
        ("datasets.left.variations", "original"),
        ("score.alpha", 0.1),
        ("score.shares", 0.3),
        ("score.parsers", "reader"),
        ("score.other_spelling", "tiny_a"),
        ("score.answers.left", "exact_match"),
        ("extract.datasets_of.tiny_a", "left"),
        ("extract.sampling.0.models", "tiny_a"),
        ("extract.sampling.0.datasets", "left"),
        ("extract.sampling.0.variations", "original"),
        ("rewrite.clean", "left"),
        ("paper.others.0.names", "its model"),
        ("paper.others.0.datasets", "left"),
    ],
)
def test_no_list_names_a_thing_twice(small: dict[str, Any], key: str, value: object) -> None:
    small["extract"] |= {"sampling": [{"temperature": 1.0, "samples": 2}], "datasets_of": {}}
    small["paper"] = {"title": "x", "others": [{"names": ["a"], "why": "b"}]}
    small["score"] |= {"answers": {}}
    level: Any = small
    *parents, last = key.split(".")
    for name in parents:
        level = level[int(name) if isinstance(level, list) else name]
    level[last] = [value, value]
    problem = refusal(small)
    what = "each model of the paper" if key == "paper.others.0.names" else "it"
    assert problem.startswith(key.partition(".")[0])
    assert f"{value} is a duplicate; name {what} once" in problem


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (LockEntry, {"source": {"kind": "folder", "path": "m"}, "outputs": ["text", "text"]}),
        (table.Settings, {"columns": {"question": "q", "answer": "a"}, "choices": ["b", "b"]}),
        (table.Settings, {"columns": {"question": "q", "answer": "a", "options": ["b", "b"]}}),
        (table.Settings, {"columns": {"question": "q", "answer": "a", "options": "o", "image": ["b", "b"]}}),
        (
            table.Settings,
            {"columns": {"question": "q", "answer": "a", "options": "o"}, "files": ["b", "b"]},
        ),
        (scienceqa.Settings, {"tasks": ["b", "b"]}),
        (Origin, {"hub": "a/b", "split": "test", "files": ["b", "b"]}),
    ],
)
def test_no_list_of_an_entry_names_a_thing_twice(model: type[BaseModel], values: dict[str, Any]) -> None:
    assert any("is a duplicate; name it once" in problem for problem in parsed(model, values)[1])
