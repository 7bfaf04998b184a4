"""Hook of MkDocs: README.md, its neighbours and the commands become pages; headings get GitHub's anchors."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from vouch.cli.command import commands, purpose

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
COMMANDS = "commands.md"
_LINK = re.compile(r"(\]\()([^)\s#:]+)")


def on_config(config: Any) -> Any:
    """Anchors as on GitHub, so that one link does for both."""
    config.mdx_configs["toc"] = {"slugify": lambda text, _: anchor(text)}
    return config


def anchor(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that lie beside docs/, and that of the commands."""
    for name, page in PAGES.items():
        text = Path(config.docs_dir).parent.joinpath(name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, COMMANDS, content=commands_page()))
    return files


def commands_page() -> str:
    """Markdown: a table of all commands, from what they declare."""
    text = "# Commands\n\n`vouch COMMAND --help` explains each, with examples.\n"
    for group, own in commands().items():
        text += f"\n## vouch {group}\n\n{purpose(group)}.\n" if group else ""
        rows = "".join(f"| `vouch {found.name}` | {found.help} |\n" for found in own.values())
        text += f"\n| command | what it does |\n|---|---|\n{rows}"
    return text


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as files lie in the repository, to links as pages lie on the site."""
    source = next((name for name, uri in PAGES.items() if uri == page.file.src_uri), None)
    here = source or f"docs/{page.file.src_uri}"

    def moved(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[2]))
        target = PAGES.get(path, path.removeprefix("docs/"))
        return link[1] + posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(moved, markdown)
