"""Models that are asked with a variant of the template to themselves."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.prompts.conftest import Project
from vouch.models.packs import PromptTable
from vouch.pipeline.errors import UserError
from vouch.tables.asked import MODEL_PROMPTS, prompt_for

OWN = MODEL_PROMPTS.name
VARIANTS = {"xc": "xcomposer", "yi_a": "yi", "yi_b": "yi", "same": None, "qwen": "qwen"}
NAMES = ("original", "option_order", "blank", "ls_n")
MakeItem = Callable[..., dict[str, Any]]


def test_each_model_is_asked_what_a_dataset_with_its_variant_alone_asks(
    project: Project, item: MakeItem
) -> None:
    items = [item(id=f"q{n}", group=f"g{n}", hint=["h", None][n % 2]) for n in range(3)]
    plain = project.vary(items, variations=NAMES)
    alone = {name: project.vary(items, f"kostumov_{name}", NAMES) for name in ("xcomposer", "yi", "qwen")}
    assert len({str(rows) for rows in [plain, *alone.values()]}) == 4 and OWN not in plain[0]
    both = project.vary(items, variations=NAMES, entry={"variants": VARIANTS})
    assert [{name: row[name] for name in row if name != OWN} for row in both] == plain
    assert [one["models"] for one in both[0][OWN]] == [["qwen"], ["xc"], ["yi_a", "yi_b"]]
    for model in (*VARIANTS, "another"):
        rows = alone.get(VARIANTS.get(model) or "", plain)
        assert [prompt_for(model, row) for row in both] == rows
        for asked, row in zip(PromptTable("toy", model, 30), rows, strict=True):
            assert asked == {name: row.get(name) for name in asked} | {"row": asked["row"], "max_tokens": 30}


def test_a_dataset_with_a_variant_may_ask_a_model_without_one(project: Project, item: MakeItem) -> None:
    plain = project.vary([item()], "tu_choice")
    (row,) = project.vary([item()], "tu_choice_llava", entry={"variants": {"a": None, "b": "llava"}})
    assert [one["models"] for one in row[OWN]] == [["a"]]
    assert prompt_for("a", row) == plain[0] and prompt_for("b", row) == prompt_for("c", row) != plain[0]


@pytest.mark.parametrize(
    ("variant", "images", "column"), [("joined", ["d1", "d2"], "images"), ("spoken", ["d1"], "outputs")]
)
def test_a_variant_of_some_models_changes_the_wording_alone(
    project: Project, item: MakeItem, variant: str, images: list[str], column: str
) -> None:
    refused = (
        f"q1/original: template kostumov_{variant} changes `{column}`, not the wording alone; ask a, b in"
    )
    with pytest.raises(UserError, match=refused):
        project.vary([item(images=images)], entry={"variants": {"b": variant, "a": variant}})


def test_a_variant_of_some_models_may_not_change_the_options(project: Project, item: MakeItem) -> None:
    text = (project.templates / "plain.yaml").read_text("utf-8")
    (project.templates / "mine.yaml").write_text(f"{text}  digits: {{labels: digits}}\n", "utf-8")
    with pytest.raises(
        UserError, match="template mine_digits changes `labels`, not the wording alone; ask a in"
    ):
        project.vary([item()], "mine", entry={"variants": {"a": "digits"}})
