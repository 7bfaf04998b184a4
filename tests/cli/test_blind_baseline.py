"""Language models beside models that see, from their pins through score and compare to what people read."""

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Vouch, flat, lay_out
from tests.cli.scored import COUNT, build, names, outcomes
from tests.report.project import SCORING, mentions, parts
from vouch.report.blind import NOTE
from vouch.report.claims import baselines
from vouch.report.evidence import Evidence
from vouch.report.leaders import leaders, preferred
from vouch.report.loading import load
from vouch.report.pages.image_use import BLIND_SECTION
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.provenance import build_items
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.table_files import headline, metrics_json
from vouch.tables.asked import TEXT
from vouch.tables.results import BLIND, LEADERBOARD, LEADERBOARD_PATH, blind_path, solved_blind

Project = Callable[..., Path]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A scored project in which some models take no images; each is made once."""
    known: dict[tuple[frozenset[str], bool, int], Path] = {}

    def made(blind: Collection[str] = (), images: bool = True, text_only: int = 0) -> Path:
        key = frozenset(blind), images, text_only
        if key not in known:
            known[key] = tmp_path_factory.mktemp("blind")
            lay_out(known[key])
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(known[key])
                build(known[key], blind=blind, images=images, text_only=text_only)
        return known[key]

    return made


def read(folder: Path, patch: pytest.MonkeyPatch) -> Evidence:
    patch.chdir(folder)
    return load(Path("data").rglob("*.parquet"), SCORING)


def test_a_model_that_beats_the_baseline_is_best_of_those_that_see(
    project: Project, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    """tiny_a is right in 9 of 10 questions, tiny_b in 4 of 10, where a guess is in 1 of 3."""
    evidence = read(project({"tiny_b"}), monkeypatch)
    assert (evidence.candidates("left"), evidence.blind("left")) == (("tiny_a",), ("tiny_b",))
    assert json.loads(build_items(evidence).blind)["left"] == ["tiny_b"], "the item pages mark it"
    assert leaders(evidence, "left") == ("tiny_a",) and preferred(evidence) == "tiny_a"
    baseline = baselines(evidence)["left"]
    assert (baseline.model, baseline.beaten_by, baseline.models) == ("tiny_b", ("tiny_a",), 1)
    assert baseline.chance == pytest.approx(1 / 3) and not baseline.beyond_guess
    view = VERDICT_SECTION.build(evidence)
    assert "tiny_b" not in view.headline and evidence.comparisons.frame.empty
    (card,) = [card for card in view.cards if card.question == "Does it use the image?"]
    assert card.answer.startswith("Beats the language model: ")  # it may know more, and not look
    assert mentions(
        card.why, "tiny_b, a language model, answers", "guessing gives 33.3", "tiny_a beats it by"
    )
    row = view.grid.rows[0]
    assert (row[1].text, row[4].note) == ("tiny_a", "tiny_b")
    shown = vouch("show").splitlines()
    left = shown.index("left, 64 questions in 32 groups")
    assert shown[left + 1].startswith(" tiny_a ") and shown[left + 2].startswith(" tiny_b (blind) ")
    assert any(
        line.startswith("left: Shown to beat tiny_b on the same questions: tiny_a by ") for line in shown
    )
    entries = {(each["dataset"], each["model"]): each for each in json.loads(vouch("show", "--json"))}
    assert entries["left", "tiny_b"]["blind"] and not entries["left", "tiny_a"]["blind"]
    assert "accuracy_unsolved_blind" in entries["left", "tiny_a"]


def test_a_model_that_does_not_beat_the_baseline_is_named_and_not_best(
    project: Project, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    evidence = read(project({"tiny_a"}), monkeypatch)
    assert leaders(evidence, "left") == () and preferred(evidence) is None
    baseline = baselines(evidence)["left"]
    assert baseline.beyond_guess and baseline.beaten_by == ()
    view = VERDICT_SECTION.build(evidence)
    assert "best" not in view.headline and "tiny_b is not shown to" in view.headline
    text = vouch("show")
    assert "left: tiny_a, a language model, answers" in text and "beyond a guess." in text
    assert "left: Not shown to beat tiny_a: tiny_b (" in text


def test_ranks_are_those_of_the_models_that_see(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project({"tiny_a"}))
    rows = LEADERBOARD.read(LEADERBOARD_PATH).to_pylist()
    assert {row["rank"] for row in rows if row["model"] == "tiny_a"} == {None}
    assert {row["rank"] for row in rows if row["model"] == "tiny_b" and row["metric"] == "accuracy"} == {1}


def test_pages_mark_the_baseline_and_what_it_solves(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = read(project({"tiny_b"}), monkeypatch)
    part = parts(BLIND_SECTION.build(evidence))[0]
    solved = solved_blind(BLIND.read(blind_path("left")))
    assert 0 < len(solved) < COUNT
    text = " ".join(part.sentences)
    assert mentions(text, f"{len(solved)} of 64 questions with an image are solved blind")
    assert mentions(text, "a guesser would solve 21.3.", "With one language model")
    texts = replace(evidence, blind_answers=evidence.blind_answers.assign(output=TEXT))
    (of_letters,) = parts(BLIND_SECTION.build(texts))[:1]
    assert "solved blind" not in " ".join(of_letters.sentences), "counts are of the main request type"
    assert [row[0].text for row in part.rows] == ["tiny_a", "tiny_b"] and part.rows[1][0].note == NOTE
    unsolved, none = (part.cells(row)["Accuracy, not solved blind %"] for row in range(2))
    grades = [of["clean_correct"] for item, of in outcomes("tiny_a", "left").items() if item not in solved]
    assert 0 < len(grades) < COUNT and unsolved.key == pytest.approx(sum(grades) / len(grades))
    assert none.text == "–"
    results = parts(RESULTS_SECTION.build(evidence))[-2:]
    assert all(each.rows[-1][0].note == NOTE and each.rows[-1][1].text == "–" for each in results)
    numbers = metrics_json(evidence)["left"]
    assert "blind_gain" in numbers["tiny_b"] and "accuracy_unsolved_blind" in numbers["tiny_a"]
    assert "blind_gain" not in numbers["tiny_a"] and "accuracy_unsolved_blind" not in numbers["tiny_b"]


def test_if_some_questions_have_no_image_only_the_others_count(
    project: Project, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    evidence = read(project({"tiny_b"}, text_only=24), monkeypatch)
    own = {
        model: [of[name]["clean_correct"] for name in names()[24:]]
        for model in ("tiny_a", "tiny_b")
        for of in [outcomes(model, "left")]
    }
    accuracy = {model: sum(grades) / 40 for model, grades in own.items()}
    baseline = baselines(evidence)["left"]
    assert baseline.accuracy["value"] == pytest.approx(accuracy["tiny_b"]) and baseline.groups == 20
    assert baseline.pairs["tiny_a"]["difference"] == pytest.approx(accuracy["tiny_a"] - accuracy["tiny_b"])
    assert evidence.candidates("left") == ("tiny_a",) and evidence.questions("left") == 64
    part = parts(BLIND_SECTION.build(evidence))[0]
    assert mentions(" ".join(part.sentences), "of the 40 questions with an image correctly")
    shown = [part.cells(row)["Accuracy %"].key for row in range(2)]
    assert shown == pytest.approx([accuracy["tiny_a"], accuracy["tiny_b"]])
    assert "of the 40 questions with an image on left" in flat(vouch("show"))
    assert "count the 40 questions with an image only" in flat(vouch("compare", "tiny_a", "tiny_b"))
    (left, _) = json.loads(vouch("compare", "tiny_a", "tiny_b", "--json"))["pairs"]
    assert left["items"] == 64 and left["accuracy"]["with_image"] == 40
    assert "accuracy_with_image" in metrics_json(evidence)["left"]["tiny_a"]


def test_only_language_models(project: Project, monkeypatch: pytest.MonkeyPatch, vouch: Vouch) -> None:
    evidence = read(project({"tiny_a", "tiny_b"}), monkeypatch)
    view = VERDICT_SECTION.build(evidence)
    assert view.headline == "Only language models were asked on left."
    assert [(card.question, card.answer) for card in view.cards] == [
        ("How much can it answer alone?", "None")
    ]
    assert [row[1].text for row in view.grid.rows] == ["only language models were asked"] * 2
    text = " ".join(parts(BLIND_SECTION.build(evidence))[0].sentences)
    assert mentions(
        text, "tiny_a, the most accurate of 2 language models", "both language models answer", "2 guessers"
    )
    assert "tiny_a (blind)" in vouch("show")
    alike = sum(
        outcomes("tiny_a", "left")[name]["chosen"] == of["chosen"]
        for name, of in outcomes("tiny_b", "left").items()
    )
    assert mentions(text, f"they choose the same option for {alike} of the 64")
    frame = evidence.outcomes
    same = frame[frame["model"] == "tiny_a"].assign(model="tiny_b")
    twice = replace(evidence, outcomes=pd.concat([frame[frame["model"] != "tiny_b"], same]))
    text = " ".join(parts(BLIND_SECTION.build(twice))[0].sentences)
    assert mentions(text, "same option for 64 of the 64. Models so alike") and "guessers" not in text


@pytest.mark.parametrize(("blind", "images"), [((), True), (("tiny_b",), False)])
def test_nothing_is_said_of_blind_models_if_there_are_none_or_no_images(
    blind: Collection[str], images: bool, project: Project, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    evidence = read(project(blind, images), monkeypatch)
    assert evidence.candidates("left") == ("tiny_a", "tiny_b") and not baselines(evidence)
    assert BLIND_SECTION.build(evidence) is None
    view = VERDICT_SECTION.build(evidence)
    assert view.headline.startswith("tiny_a is best on left") and len(view.grid.columns) == 8
    assert not [name for name in headline(evidence).columns if "blind" in name]
    assert BLIND.read(blind_path("left")).num_rows == 0
    shown = vouch("show")
    assert "blind" not in shown and "language model" not in shown
