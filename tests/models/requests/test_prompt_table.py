"""Tables of prompts that no stage of this project wrote: one line that names the row, before anything is asked."""

from typing import Any

import pyarrow as pa
import pytest

from tests.models.project import DATASET, Project, picture, prompt, recipe
from vouch.images.pictures import render
from vouch.models.requests.prompt_table import PromptTable
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import OUTPUTS, PROMPTS, TEXT, prompts_path

NOISE = picture(0)
PICTURE = recipe(NOISE)
STEP = {"operation": "blur", "severity": 3, "revision": 1}


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("text", None, "text is null"),
        ("id", None, "id is null"),
        ("options", None, "options is null"),
        ("options", [None, "a"], "options holds a null"),
        ("marks", ["A", None], "marks holds a null"),
        ("turns", [None], "turns holds a null"),
        ("turns", [{"question": "what", "answer": None}], "turns holds a null"),
        ("outputs", ["letters", "smell"], "asks for 'smell', which is none of letters, likelihood, text"),
        ("outputs", [None], "asks for None, which is none of letters, likelihood, text"),
        ("max_tokens", -5, "max_tokens is -5"),
        ("max_tokens", 0, "max_tokens is 0"),
        ("pictures", [None], "pictures holds a null"),
        ("pictures", [{**PICTURE, "images": None}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "images": [None]}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "steps": None}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "steps": [None]}], "pictures holds a null"),
        ("pictures", [{**PICTURE, "steps": [{**STEP, "operation": None}]}], "pictures holds a null"),
        ("id", "good/original", "its id stands already in row 1"),
    ],
)
def test_a_row_that_cannot_be_asked(project: Project, column: str, value: Any, says: str) -> None:
    bad = {**prompt("bad/original", "what", [NOISE], outputs=OUTPUTS), column: value}
    project.ask([prompt("good/original", "what", [NOISE], outputs=OUTPUTS), bad], [NOISE])
    with pytest.raises(UserError, match=rf"^data/prompts/quiz\.parquet row 2: prompt .*{says}; ") as caught:
        project.extract()
    assert "\n" not in str(caught.value)
    assert not project.shards(), "nothing was asked"


def test_text_that_is_no_utf8(project: Project) -> None:
    rows = [prompt("good/original", "what", [NOISE], outputs=[TEXT])]
    table = pa.Table.from_pylist(rows, schema=PROMPTS.schema)
    broken = pa.StringArray.from_buffers(
        1, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")
    )
    place = table.column_names.index("text")
    PROMPTS.write(prompts_path(DATASET), table.set_column(place, "text", broken))
    with pytest.raises(UserError, match=r"^data/prompts/quiz\.parquet: damaged"):
        _ = PromptTable(DATASET, 4).repeated


@pytest.mark.parametrize("count", [0, 2])
def test_a_recipe_with_another_number_of_images(count: int) -> None:
    made = {**PICTURE, "images": PICTURE["images"] * count}
    with pytest.raises(UserError, match=f"of {count} images comes to {count} pictures instead of one"):
        render(made, lambda digest: NOISE)
