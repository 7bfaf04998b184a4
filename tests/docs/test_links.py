"""Links of the documentation lead somewhere: pages, headings, and the repository's files that prose names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "decisions/**/*.md", "data/README.md", "reports/README.md")
    for path in sorted(ROOT.glob(pattern))
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# a path in backticks; names in capitals stand for any, and what stages make need not be there
NAMED = re.compile(r"`((?:vouch|stages|tests|tools|benchmarks|docs|profiles|decisions)/[a-z0-9_./-]+)`")


def text(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths(page: Path) -> None:
    missing = []
    for link in LINK.findall(text(page)):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        found = page.parent / target if target else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            missing.append(link)
    for path in NAMED.findall(text(page)):
        if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists():
            missing.append(path)
    assert not missing


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in LINK.findall(text(ROOT / "README.md"))}
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} <= linked
