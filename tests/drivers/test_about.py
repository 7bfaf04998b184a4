"""What drivers say of the authors' code, read without running them."""

from pathlib import Path

import pytest

from tests.models.project import ROOT
from tests.refusals import refused
from vouch.models.program.about import about, drivers

LLAVA = """\
ABOUT = {
    "repository": "haotian-liu/LLaVA",
    "commit": "c121f0432da27facab705978f83c4ada465e46fd",
    "licence": "Apache-2.0",
    "environment": "llava",
    "models": {"reform": ["LLaVA (Vicuna)"]},
}
"""


def test_every_driver_says_what_it_runs() -> None:
    known = dict(drivers(ROOT / "drivers"))
    assert len(known) >= 13
    claims = [
        (profile, name) for one in known.values() for profile, names in one.models.items() for name in names
    ]
    assert len(claims) == len(set(claims)), "two drivers ask the same model of a paper"
    page = (ROOT / "docs/models.md").read_text("utf-8")
    for name, driver in known.items():
        assert f"`{name}`" in page and driver.repository in page and driver.commit[:12] in page, name
        assert (ROOT / f"drivers/{driver.environment}.txt").is_file(), name
        for profile, models in driver.models.items():
            text = (ROOT / f"profiles/{profile}.yaml").read_text("utf-8")
            assert all(model in text for model in models), name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ABOUT = dict(repository='a/b')", "ABOUT is no literal .*line 1: <ast.Call object>.; correct"),
        ("ABOUT = {", "ABOUT is no literal"),
        ("ABOUT: dict = None or 1", "ABOUT is no literal"),
        ("ABOUT = [1]", "ABOUT: ABOUT: Input should be"),
        ("ABOUT = {}", "ABOUT: repository: Field required"),
        (LLAVA.replace("c121f0", "C121F0"), "ABOUT: commit: String should match"),
        (LLAVA.replace("haotian-liu/", "https://github.com/haotian-liu/"), "ABOUT: repository: String"),
        (LLAVA.replace("licence", "license"), "ABOUT: licence: Field required"),
        (LLAVA.replace('["LLaVA (Vicuna)"]', '"LLaVA"'), "ABOUT: models.reform: Input should be"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    driver = tmp_path / "their.py"
    driver.write_text(text, "utf-8")
    with refused(f"{driver}: {problem}"):
        about(driver)


def test_a_driver_need_say_nothing_and_is_not_run(tmp_path: Path) -> None:
    driver = tmp_path / "their.py"
    driver.write_text("raise SystemExit(1)\nclass Model: ABOUT = {}\n", "utf-8")
    assert about(driver) is None
    driver.write_text(f"import nothing_here\n{LLAVA}", "utf-8")
    known = about(driver)
    assert known and known.folder == "" and known.models == {"reform": ["LLaVA (Vicuna)"]}
