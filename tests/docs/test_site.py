"""The documentation as a site: Sphinx builds it from the repository's files, and every link leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the extra docs is not installed; `make test` installs it")
ROOT = Path(__file__).parents[2]
PARTS = ("docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.site"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for part in PARTS:
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, tmp_path / part)
    return tmp_path


def test_the_site_is_built_without_a_warning(copied: Path) -> None:
    done = build(copied)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    site = copied / "build/site"
    pages = {path.relative_to(copied / "docs") for path in (copied / "docs").rglob("*.md")}
    added = {"genindex.md", "search.md"}
    made = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    assert made - {Path(name) for name in added} == pages | {
        Path(f"{name}.md") for name in ("index", "changelog", "commands", "contributing", "security")
    }
    assert (site / "glossary.html").read_text("utf-8").count("<tr") > 15
    for page in site.rglob("*.html"):  # links within the site: the files are there
        text = page.read_text("utf-8")
        assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"https?:", text), (
            "loaded from elsewhere"
        )
        for link in re.findall(r"(?:href|src)=\"([^\"#:?]+)(?:[#?][^\"]*)?\"", text):
            assert (page.parent / link).resolve().exists(), f"{page.name}: {link}"


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("docs/glossary.md", "nowhere.md"),
        ("docs/internals/fuzzing.md", "../metrics.md#no-such-heading"),
        ("README.md", "docs/nowhere.md"),
        ("SECURITY.md", "../elsewhere.md"),
    ],
)
def test_a_broken_link_fails(copied: Path, page: str, link: str) -> None:
    with (copied / page).open("a", encoding="utf-8") as file:
        file.write(f"\n[there]({link})\n")
    done = build(copied)
    assert done.returncode and re.split("[/#]", link)[-1] in done.stderr


def test_a_page_that_the_margin_does_not_name_fails(copied: Path) -> None:
    (copied / "docs/new.md").write_text("# New\n", "utf-8")
    done = build(copied)
    assert done.returncode and "new.md" in done.stderr
