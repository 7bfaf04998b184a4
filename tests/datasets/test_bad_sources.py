"""Sources that are damaged, lie or ask for too much: one line that names the place. See bad_sources.py for what."""

import re
from typing import Any

import pytest

from tests.bounds import bounded
from tests.datasets.bad_sources import FILES, HEAD, LINES, READ, ROWS, TABLES, UNUSABLE, USABLE, item
from tests.datasets.conftest import Project
from tests.datasets.loaders.test_table import COLUMNS, write
from tests.datasets.loaders.test_table import ROWS as WHOLE
from vouch.datasets.cleaning.cleaning import examine
from vouch.datasets.raw import Unusable
from vouch.images.opening import decode
from vouch.pipeline.errors import UserError

DAMAGED = pytest.mark.filterwarnings(
    "ignore::UserWarning:PIL.TiffImagePlugin"
)  # Pillow warns of damaged TIFF and EXIF


@DAMAGED
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_picture_that_cannot_be_shown(name: str) -> None:
    """Refused where a dataset is read, so that no model is asked it."""
    with bounded(), pytest.raises(Unusable) as caught:
        examine(UNUSABLE[name])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@DAMAGED
@pytest.mark.parametrize("name", USABLE)
def test_an_odd_picture_is_shown(name: str) -> None:
    with bounded():
        found, shown = examine(USABLE[name]), decode(USABLE[name])
    assert shown.mode == "RGB" and shown.height == found.shown_height


def refusal(project: Project, loader: str, **settings: Any) -> str:
    with bounded(), pytest.raises(UserError) as caught:
        project.prepare(loader, **settings)
    assert project.written() == [] and "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_of_items(name: str, project: Project) -> None:
    edit, said = FILES[name]
    project.image("one.png")
    project.lines(*(item(id=f"q{number}") for number in range(3)))
    edit(project.source)
    message = refusal(project, "jsonl")
    assert re.search(said, message), message


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_archives(name: str, project: Project) -> None:
    loader, path, edit, said = TABLES[name]
    (project.source / path).parent.mkdir(exist_ok=True)
    edit(project.source)
    message = refusal(project, loader, expect=None, **({"set": "flowers102"} if loader == "reform" else {}))
    assert re.search(said, message), message


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_items(name: str, project: Project) -> None:
    project.image("one.png", size=(40, 30))
    project.lines(item(id="q0"), LINES[name], item(id="q2"))
    if name in READ:
        with bounded():
            assert project.prepare()["items"].num_rows == 3
    else:
        assert refusal(project, "jsonl").startswith("toy/items.jsonl line 2")


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_table(name: str, project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    file, data, said = ROWS[name]
    path = project.source / file
    for shade in (0, 1):
        project.image(f"pics/{shade}.png", shade=shade)
    write(path, WHOLE)
    path.write_bytes(data if HEAD[:-1] in data or b"n\0o" in data else path.read_bytes() + data)
    message = refusal(project, "table", columns=COLUMNS)
    assert re.search(said, message), message
    assert capfd.readouterr().err == ""
