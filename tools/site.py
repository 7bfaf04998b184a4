"""Hook of MkDocs: README.md and its neighbours become pages, and headings get the anchors that GitHub has."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_LINK = re.compile(r"(\]\()([^)\s#:]+)")


def on_config(config: Any) -> Any:
    """Anchors as on GitHub, so that one link does for both."""
    config.mdx_configs["toc"] = {"slugify": lambda text, _: anchor(text)}
    return config


def anchor(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that lie beside docs/."""
    for name, page in PAGES.items():
        text = Path(config.docs_dir).parent.joinpath(name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as files lie in the repository, to links as pages lie on the site."""
    source = next((name for name, uri in PAGES.items() if uri == page.file.src_uri), None)
    here = source or f"docs/{page.file.src_uri}"

    def moved(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[2]))
        target = PAGES.get(path, path.removeprefix("docs/"))
        return link[1] + posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(moved, markdown)
