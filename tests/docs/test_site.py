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


def copy(folder: Path) -> Path:
    """What the site is made from, in another folder."""
    for part in PARTS:
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, folder / part)
    return folder


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    copied = copy(tmp_path)
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


BROKEN = {
    "docs/glossary.md": "nowhere.md",
    "docs/internals/fuzzing.md": "../metrics.md#no-such-heading",
    "README.md": "docs/missing.md",
    "SECURITY.md": "../elsewhere.md",
}
"""Page -> a link that leads nowhere, each to another place."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A build of pages with all these links, and of a page that the margin does not name: one for all takes
    seconds, and Sphinx names every fault."""
    folder = copy(tmp_path_factory.mktemp("broken"))
    for page, link in BROKEN.items():
        with (folder / page).open("a", encoding="utf-8") as file:
            file.write(f"\n[there]({link})\n")
    (folder / "docs/new.md").write_text("# New\n", "utf-8")
    return build(folder)


def warned(done: subprocess.CompletedProcess[str], name: str) -> int:
    """How many warnings, each of which fails a build, name this."""
    assert done.returncode == 1, done.stderr
    return sum("WARNING" in line and name in line for line in done.stderr.splitlines())


@pytest.mark.parametrize("link", BROKEN.values(), ids=BROKEN)
def test_a_broken_link_fails(refused: subprocess.CompletedProcess[str], link: str) -> None:
    assert warned(refused, re.split("[/#]", link)[-1]) == 1, refused.stderr


def test_a_page_that_the_margin_does_not_name_fails(refused: subprocess.CompletedProcess[str]) -> None:
    assert warned(refused, "new.md") == 1, refused.stderr


def test_only_these_fail(refused: subprocess.CompletedProcess[str]) -> None:
    assert warned(refused, "") == len(BROKEN) + 1, refused.stderr
