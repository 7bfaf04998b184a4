"""Another author's data through the loader `table`, as the profile easy_vqa maps them; easy_vqa itself says what is right."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.models.project import ROOT
from vouch.pipeline.yaml12 import load

easy_vqa = pytest.importorskip("easy_vqa", reason="the package easy-vqa is not here: `make test` installs it")
PROFILE = load(ROOT / "profiles/easy_vqa.yaml")["datasets"]


def items(project: Any, name: str) -> list[dict[str, Any]]:
    """All items of an entry of the profile."""
    project.source.rmdir()
    project.source.symlink_to(Path(easy_vqa.__file__).parent / "data/test")
    entry = PROFILE[name]
    project.entry = {key: entry[key] for key in ("template", "options") if key in entry}
    found: list[dict[str, Any]] = project.prepare("table", **entry["settings"])["items"].to_pylist()
    return found


def test_the_closed_list_of_answers(project: Any) -> None:
    texts, answers, pictures = easy_vqa.get_test_questions()
    digests = {
        number: sha256(Path(path).read_bytes()).hexdigest()
        for number, path in easy_vqa.get_test_image_paths().items()
    }
    found = items(project, "easy_vqa")
    assert [item["question"] for item in found] == texts
    assert [item["options"][item["answers"][0]] for item in found] == answers
    assert all(item["options"] == easy_vqa.get_answers() for item in found)
    assert [item["images"] for item in found] == [[digests[number]] for number in pictures]
    assert len({item["group"] for item in found}) == len(set(pictures))


def test_four_options(project: Any) -> None:
    _, answers, _ = easy_vqa.get_test_questions()
    found = items(project, "easy_vqa_four")
    assert [item["options"][item["answers"][0]] for item in found] == answers
    for item, answer in zip(found, answers, strict=True):
        options = set(item["options"])
        assert options == {"yes", "no"} if answer in ("yes", "no") else len(options) == 4
