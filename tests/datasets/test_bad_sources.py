"""Sources that are damaged, lie or ask for too much: one line that names the place. See bad_sources.py for what."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.datasets.bad_sources import FILES, TABLES, UNUSABLE, USABLE
from tests.datasets.conftest import Project
from vouch.datasets.cleaning.cleaning import examine
from vouch.datasets.raw import Unusable
from vouch.images.pictures import decode
from vouch.pipeline.errors import UserError


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_picture_that_cannot_be_shown(name: str) -> None:
    """Refused where a dataset is read, so that no model is asked it."""
    with pytest.raises(Unusable) as caught:
        examine(UNUSABLE[name])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize("name", USABLE)
def test_an_odd_picture_is_shown(name: str) -> None:
    found = examine(USABLE[name])
    shown = decode(USABLE[name])
    assert shown.mode == "RGB" and shown.height == found.shown_height


def refusal(project: Project, loader: str, **settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        project.prepare(loader, **settings)
    assert project.written() == [] and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_of_items(name: str, project: Project, item: Callable[..., dict[str, Any]]) -> None:
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
