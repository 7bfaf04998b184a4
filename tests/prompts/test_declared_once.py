"""A variation is declared in one place; everything that speaks of variations finds it there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.refusals import refused
from tests.report.conftest import loaded as loaded
from tests.report.conftest import make as make
from tests.report.project import Made, Make
from vouch.cli.counts import Items, estimate
from vouch.cli.main import main
from vouch.cli.schema import VARIATIONS, schemas
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.prompts import variations
from vouch.prompts.draft import IMAGES, Draft
from vouch.prompts.variations import declared, variation
from vouch.report.costs import in_words
from vouch.report.pages.image_use import SEVERITY_FIGURE, severity_frame

ROOT = Path(__file__).parents[2]
SMUDGE = """
from functools import partial

from vouch.prompts.draft import IMAGES
from vouch.prompts.variations import variation
from vouch.prompts.variations.basic import disturbed

declare = variation(
    "smudge", "images smudged", does="every image smudged", changes=IMAGES, levels=7, default_level=2
)
declare(partial(disturbed, "blur"))
"""


def add_file(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds a file to vouch/prompts/variations, until the test ends."""
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(variations, "__path__", [*variations.__path__, str(folder)])
    variations.read_files()


@pytest.fixture
def smudge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    add_file(tmp_path, "smudges", SMUDGE, monkeypatch)
    yield
    cast(dict[str, Any], declared()).pop("smudge")


@pytest.mark.usefixtures("smudge")
def test_one_new_entry_is_planned_completed_documented_and_drawn(
    make: Make, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    entry = DatasetEntry.model_validate({"loader": "shapes", "source": "there", "template": "kostumov"})
    assert estimate(Items(10, here=True), entry, ["smudge", "smudge_7"]).prompts == 20
    assert main(["completion", "variations"]) == 0 and "smudge" in capsys.readouterr().out.split()
    row = "| `smudge`, `smudge_1` to `smudge_7` | every image smudged | kept |"
    assert row in schemas()[VARIATIONS]
    assert in_words("smudge_7+option_order") == "images smudged, level 7 + options in reversed order"
    evidence = make(Made(variations=("original", "smudge", "smudge_7")))
    frame = severity_frame(evidence, "shapes")
    assert set(frame["kind"]) == {"images smudged"} and set(frame["level"]) == {0, 2, 7}
    assert "'domain': [-0.2, 7.2]" in str(SEVERITY_FIGURE.draw(evidence, "shapes").to_dict())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"changes": "sound"}, "variation x: unknown changes sound; valid: .*images"),
        ({"effect": "turned"}, "unknown effect turned; valid: .*swapped"),
        ({"family": "XR"}, "unknown family XR; .*valid: .*VR"),
        ({"name": "X 1"}, "variation X 1: a name has small letters"),
        ({"levels": 3}, "variation x: default_level must be one of its levels, 1 to 3"),
        ({"levels": 3, "default_level": 4}, "default_level must be one of its levels, 1 to 3"),
        ({"name": "vr_b"}, "variation vr_b: is declared twice"),
    ],
)
def test_a_declaration_that_is_refused(arguments: dict[str, Any], reason: str) -> None:
    def vary(draft: Draft) -> Draft:
        return draft

    with refused(reason):
        variation(**{"name": "x", "label": "", "changes": IMAGES, **arguments})(vary)
    assert "x" not in declared()


def test_a_file_in_the_old_form_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("variations/old_form.py: CHANGES.*arguments of @variation"):
        add_file(tmp_path, "old_form", 'CHANGES = ("images",)', monkeypatch)
