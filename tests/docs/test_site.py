"""The documentation as a site: MkDocs builds it from the repository's files, and every link leads somewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra docs is not installed; `make test` installs it")
ROOT = Path(__file__).parents[2]
PARTS = ("mkdocs.yml", "docs", "tools/site.py", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for part in PARTS:
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, tmp_path / part)
    return tmp_path


def test_the_site_is_built_without_a_warning(copied: Path) -> None:
    done = build(copied)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    site = copied / "build/site"
    pages = {path.relative_to(copied / "docs") for path in (copied / "docs").rglob("*.md")}
    made = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")} - {Path("404.md")}
    assert made == pages | {
        Path(f"{name}.md") for name in ("index", "changelog", "commands", "contributing", "security")
    }
    assert (site / "glossary.html").read_text("utf-8").count("<tr>") > 15
    for page in site.rglob("*.html"):  # links within the site: the files are there, and the headings
        text = page.read_text("utf-8")
        assert not re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"https?:", text), "loaded from elsewhere"
        for link in re.findall(r"(?:href|src)=\"([^\"#:]+)(?:#[^\"]*)?\"", text):
            assert page.name == "404.html" or (page.parent / link).resolve().exists(), f"{page.name}: {link}"


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
    assert done.returncode and link.rpartition("/")[2] in done.stderr
