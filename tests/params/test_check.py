"""params.yaml checked as a whole: what an entry of a dataset may say beside its source."""

from pathlib import Path
from typing import Any

import pytest

from vouch.params.check import check_params
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

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
    assert str(error.value).startswith(f"params.yaml: {said}")
    assert ("(and 1 more problem)" in str(error.value)) == ("batch" in values)


@pytest.mark.parametrize("source", [".", "..", "/", "stages/.."])
def test_a_dataset_does_not_lie_around_the_project(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError, match=r"^params\.yaml: datasets\.left\.source: holds this project; "):
        checked(source=source)


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
