"""Images read ahead by threads: order, errors, what is decoded, and how much is in memory."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from vouch.datasets.raw import RawItem, Rejected
from vouch.datasets.read.images import HELD, digest_of, examine, with_images
from vouch.pipeline.errors import UserError
from vouch.tables.asked import IMAGES, ImageStore, images_path


def png(shade: int, side: int = 40) -> bytes:
    file = io.BytesIO()
    Image.new("L", (side, side), shade).save(file, "PNG")
    return file.getvalue()


def entry(number: int, *images: bytes | str, root: Path | None = None) -> RawItem:
    return RawItem(str(number), f"line {number}", "What?", images=images, root=root)


def test_entries_without_an_image_are_never_handed_to_threads(monkeypatch):
    """Handing one over takes longer than to reject it."""
    handed: list[object] = []
    submit = ThreadPoolExecutor.submit
    monkeypatch.setattr(
        ThreadPoolExecutor, "submit", lambda *given: (handed.append(given[2]), submit(*given))[1]
    )
    entries = [Rejected("line 1", "", "why"), entry(2), entry(3, png(3)), Rejected("line 4", "", "why")]
    assert [looked.entry for looked in with_images(entries, {})] == entries
    assert handed == [entries[2]]


def test_the_first_unusable_image_is_the_one_that_is_named(tmp_path):
    (tmp_path / "good.png").write_bytes(png(3))
    rejected = Rejected("line 2", "b", "why")
    first, second = with_images([entry(1, "good.png", "gone.png", b"", root=tmp_path), rejected], {})
    assert "'gone.png': no such file" in str(first.broken)
    assert second.entry is rejected and not second.examined and second.broken is None


def test_known_images_are_not_kept_and_equal_ones_are_decoded_once():
    data = png(7)
    known = {digest_of(data): examine(data)}
    (looked,) = with_images([entry(1, data, png(8))], known)
    assert [data for _, data in looked.examined] == [None, png(8)]
    assert looked.examined[0][0] is known[digest_of(data)]
    both = list(with_images([entry(number, png(9)) for number in range(6)], {}))
    assert len({id(looked.examined[0][0]) for looked in both}) == 1


def test_few_entries_are_drawn_ahead_and_closing_ends_the_threads():
    drawn: list[int] = []
    looked = with_images((drawn.append(number) or entry(number, png(number)) for number in range(30)), {})
    next(looked)
    assert len(drawn) <= 1 + HELD
    looked.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("vouch-prefetch")]


def test_the_first_bad_line_is_the_one_that_is_told_whatever_is_found_sooner(project, item):
    """Line 2 is a large image that is cut off, lines 3 to 6 are found broken long before it."""
    noise = Image.effect_noise((900, 900), 60).convert("RGB")
    noise.save(project.source / "whole.png")
    data = (project.source / "whole.png").read_bytes()
    (project.source / "cut.png").write_bytes(data[: len(data) - 2000])
    (project.source / "empty.png").write_bytes(b"")
    lines = [item(id=f"q{n}", image="empty.png") for n in range(4)]
    project.lines(item(image="whole.png"), item(id="cut", image="cut.png"), *lines)
    with pytest.raises(UserError, match=r"items\.jsonl line 2 \(id 'cut'\): image 'cut\.png'"):
        project.prepare()
    assert project.written() == []


def test_images_stand_in_the_order_of_their_first_use(project, item):
    """As one thread would write them: a large image comes before the small ones after it."""
    sizes = [700, 5, 5, 500, 5, 5, 5]
    for number, side in enumerate(sizes):
        project.image(f"{number}.png", size=(side, side), shade=number)
    used = [0, 1, 0, 2, 3, 1, 4, 5, 6]
    project.lines(*(item(id=f"q{n}", image=f"{image}.png") for n, image in enumerate(used)))
    project.prepare()
    written = IMAGES.read(images_path("toy")).column("bytes").to_pylist()
    assert written == [(project.source / f"{number}.png").read_bytes() for number in range(len(sizes))]


def test_heavy_images_have_small_row_groups(tmp_path, monkeypatch):
    path, blobs = images_path("heavy"), [bytes([n]) * 1000 for n in range(20)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vouch.tables.table.MOST_BYTES", 3000)
    rows = [{"digest": digest_of(data), "bytes": data, "width": 9, "height": 7} for data in blobs]
    IMAGES.write(path, rows)
    assert IMAGES.open(path).num_row_groups == 7
    store = ImageStore(path)
    assert [store.read(digest_of(data)) for data in blobs] == blobs
    assert store.decoded_bytes(digest_of(blobs[0])) == 4 * 63
