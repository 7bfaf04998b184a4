"""Pages to judge pictures by: one for each question, its pairs side by side, thumbnails beside the pages."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from PIL import Image

from vouch.images.pictures import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder
from vouch.prompts.build.exchange import Candidate
from vouch.tables.images import ImageStore

SIDE = 320  # pixels of a thumbnail's longer side
MARK = "exchange.txt"  # says that a folder was made here and may be written anew
_HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    "<style>body{{font:16px sans-serif;margin:2em}}img{{max-width:320px}}td{{padding:.5em;"
    "vertical-align:top}}</style><h1>{title}</h1>\n"
)


def write_pages(folder: Path, pairs: Sequence[Candidate], images: ImageStore) -> None:
    """Writes the folder anew. Raises UserError where one is there that holds anything else."""
    if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there and was not made by --pictures; name another folder")
    by_question: dict[str, list[tuple[int, Candidate]]] = {}
    for number, one in enumerate(pairs, start=2):  # as a person counts the lines of the CSV file
        by_question.setdefault(one.pair.question, []).append((number, one))
    names = {question: f"question-{number}.html" for number, question in enumerate(by_question, start=1)}
    with replacing_folder(folder) as made:
        for digest in sorted({digest for one in pairs for digest in one.pair.images}):
            thumbnail(images, digest).save(made / f"{digest}.jpg", "JPEG", quality=85)
        for question, name in names.items():
            (made / name).write_text(_page(question, by_question[question]), encoding="utf-8")
        (made / "index.html").write_text(_index(names, by_question), encoding="utf-8")
        (made / MARK).write_text("made by `vouch exchange`; written anew each time\n", encoding="utf-8")


def thumbnail(images: ImageStore, digest: str) -> Image.Image:
    """The picture as models see it, smaller."""
    picture = render({"images": [digest], "steps": []}, images.read)
    picture.thumbnail((SIDE, SIDE))
    return picture


def _index(names: Mapping[str, str], by_question: Mapping[str, Sequence[object]]) -> str:
    lines = [
        f'<li><a href="{name}">{escape(question)}</a> ({len(by_question[question])} pairs)\n'
        for question, name in names.items()
    ]
    return _HEAD.format(title="Which picture wins?") + "<ol>\n" + "".join(lines) + "</ol>\n"


def _page(question: str, pairs: Sequence[tuple[int, Candidate]]) -> str:
    rows = [
        f"<tr><td>row {number}"
        + "".join(
            f'<td><img src="{digest}.jpg" loading="lazy" alt="{side}"><br>{side} <code>{digest[:12]}</code>'
            for side, digest in zip(("first", "second"), one.pair.images, strict=True)
        )
        + "\n"
        for number, one in pairs
    ]
    return _HEAD.format(title=escape(question)) + "<table>\n" + "".join(rows) + "</table>\n"
