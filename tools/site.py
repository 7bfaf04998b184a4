"""`make docs`: Sphinx makes README.md, its neighbours and docs/ a site in build/site.

The pages are copied into build/docs first, with links as they lie on the site, and a page of all commands is
added. `python -m tools.site` exits with 1 after the first broken link, or if a page is not in CONTENTS.
"""

import posixpath
import re
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from vouch.cli.command import commands, purpose

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
CONTENTS = {
    "Start": "tutorial glossary report terminal commands",
    "Your own": "library add-a-dataset cleaning add-a-model",
    "Prompts": "variations prompt-templates rewrites",
    "Numbers": "statistics prediction-sets comparisons small-data blind-baseline protocols letters-and-texts "
    "metrics answers ranking reproducibility",
    "Papers": "tutorial-papers papers profiles published beyond datasets reform-eval models architectures "
    "demo-models real-models",
    "Running": "cluster remotes internals/fault-tolerance internals/performance internals/extraction",
    "Code": "contributing architecture dependencies internals/fuzzing security changelog",
}
"""The pages by part, in the order of the site's margin."""
SETTINGS = {
    "project": "Vouch",
    "extensions": "myst_parser",
    "myst_heading_anchors": "6",
    "html_theme": "furo",
    "html_title": "Vouch",
    "html_copy_source": "0",
    "html_show_sphinx": "0",
    "html_show_copyright": "0",
    "source_suffix": ".md",
}
_LINK = re.compile(r"(\]\()([^)\s#:]+)")


def written(root: Path, folder: Path) -> None:
    """Writes the pages, as Sphinx reads them, into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "docs", folder)
    for path in sorted(folder.rglob("*.md")):
        name = path.relative_to(folder).as_posix()
        path.write_text(linked(path.read_text("utf-8"), f"docs/{name}", name), "utf-8")
    for name, page in PAGES.items():
        text = linked((root / name).read_text("utf-8"), name, page)
        (folder / page).write_text(text + (contents() if page == "index.md" else ""), "utf-8")
    (folder / "commands.md").write_text(commands_page(), "utf-8")


def linked(text: str, source: str, page: str) -> str:
    """A page of the repository with the links of the site, where it lies as `page`."""

    def moved(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[2]))
        target = PAGES.get(path, path.removeprefix("docs/"))
        return link[1] + posixpath.relpath(target, posixpath.dirname(page) or ".")

    return _LINK.sub(moved, text)


def contents() -> str:
    """The parts, as Sphinx wants them on the first page."""
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {part}", "", *pages.split(), "```", ""])
        for part, pages in CONTENTS.items()
    )


def commands_page() -> str:
    """Markdown: a table of all commands, from what they declare."""
    text = "# Commands\n\n`vouch COMMAND --help` explains each, with examples.\n"
    for group, own in commands().items():
        text += f"\n## vouch {group}\n\n{purpose(group)}.\n" if group else ""
        rows = "".join(f"| `vouch {command.name}` | {command.help} |\n" for command in own.values())
        text += f"\n| command | what it does |\n|---|---|\n{rows}"
    return text


def main() -> int:
    """The exit status of Sphinx, for which a warning is an error."""
    build = Path("build")
    written(Path("."), build / "docs")
    shutil.rmtree(build / "site", ignore_errors=True)
    settings = [part for name, value in SETTINGS.items() for part in ("-D", f"{name}={value}")]
    places = [str(build / "docs"), str(build / "site")]
    return sphinx(["-q", "-W", "--keep-going", "-C", "-d", str(build / "doctrees"), *settings, *places])


if __name__ == "__main__":
    sys.exit(main())
