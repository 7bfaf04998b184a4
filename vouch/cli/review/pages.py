"""Folders of pictures and HTML pages without a script, to look at and to judge by."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>'
    "body{{font:16px sans-serif;margin:2em}}img{{max-width:320px;border:1px solid #ccc}}"
    "td{{vertical-align:top;padding:.5em;max-width:45em}}pre{{white-space:pre-wrap;margin:.3em 0}}"
    "</style><h1>{title}</h1>\n{body}"
)


def check_folder(folder: Path, command: str) -> None:
    """Raises UserError where a folder is there that holds what the command did not make."""
    if folder.exists() and not _mark(folder, command).is_file() and not _is_empty(folder):
        raise UserError(
            f"{folder}: is there and was not made by `vouch review {command}`; name another folder"
        )


@contextmanager
def folder_of_pages(folder: Path, command: str) -> Iterator[Path]:
    """A folder to fill, which takes the place of one that the command made earlier. Raises UserError."""
    check_folder(folder, command)
    with replacing_folder(folder) as made:
        yield made
        _mark(made, command).write_text(
            f"made by `vouch review {command}`; written anew each time\n", "utf-8"
        )


def write_page(file: Path, title: str, body: str) -> None:
    """Writes a page. title: text; body: HTML."""
    file.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")


def _mark(folder: Path, command: str) -> Path:
    """The file that says that a folder was made here."""
    return folder / f"{command}.txt"


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
