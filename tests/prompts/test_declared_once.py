"""A variation is declared in one place; everything that speaks of variations finds it there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.prompts.rows import item_rows, template_of
from tests.refusals import refused
from tests.report.conftest import loaded as loaded
from tests.report.conftest import make as make
from tests.report.project import Made, Make
from vouch.cli.counts import Items, estimate
from vouch.cli.main import main
from vouch.cli.schema import VARIATIONS, schemas
from vouch.datasets.config import DatasetEntry
from vouch.images.operations import LEVELLED, PLAIN
from vouch.metrics import compared
from vouch.models.config import ExtractConfig
from vouch.models.packs import Keys
from vouch.papers.parc_tables import KINDS
from vouch.prompts import build, variations
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import IMAGES, Draft, Item
from vouch.prompts.variations import declared, in_words, variation
from vouch.report.pages.severity import SEVERITY_FIGURE, severity_frame
from vouch.tables import WITHOUT_IMAGE
from vouch.tables.asked import FAMILIES, IMAGE_REVISIONS, LETTERS

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


def test_statistics_name_variations_that_are_declared() -> None:
    """Rooms below this one know these by name alone."""
    for name in WITHOUT_IMAGE:
        assert declared()[name].control and declared()[name].parts == (IMAGES,)
    for name in compared.OTHER_PICTURE:
        assert declared()[name].parts == (IMAGES,) and not declared()[name].control
    assert compared.BLURRED in compared.OTHER_PICTURE
    of_parc = {one.name for one in declared().values() if one.family}
    assert of_parc == set(KINDS) - {"original"}, "papers/parc_tables.py has them in the paper's order"
    assert {one.family for one in declared().values()} == {*FAMILIES, ""}
    assert {one.operation for one in declared().values()} - {""} == {*LEVELLED, *PLAIN}


def test_a_raised_revision_reaches_the_prompts_and_the_keys_of_their_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item = Item("q", "g", "What?", None, ("x", "y"), (0,), ("d1", "d2"), "choice")
    names = ["original", "vr_b", "vr_r", "typographic"]

    def made() -> tuple[list[Any], list[bytes]]:
        build._steps.cache_clear()
        rows = item_rows(item, list(map(load_variation, names)), template_of("parc"), "parc", None, before={})
        steps = [[tuple(step.values()) for step in row["images"][0]["steps"]] for row in rows]
        keys = Keys({}, ExtractConfig()).pack(LETTERS, rows)
        return steps, [key for member in keys.members for key in member.keys]

    before, keys = made()
    assert before[1] == [("blur", 3, 1), ("merged", 0, 1)] and before[2][0] == ("rotate", 0, 1)
    for operation in ("blur", "rotate", "write", "merged"):
        monkeypatch.setitem(IMAGE_REVISIONS, operation, 2)
    after, others = made()
    assert [[revision for *_, revision in steps] for steps in after] == [[2], [2, 2], [2, 2], [2, 2]]
    assert not set(keys) & set(others)
    build._steps.cache_clear()


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
