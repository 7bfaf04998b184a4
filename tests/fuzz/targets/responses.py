"""Tables and pins of this project, as they come back from a shared cache."""

from pathlib import Path

from tests.fuzz.pictures import PNG
from vouch.tables.answered import Pin, Source, read_pin, write_pin
from vouch.tables.asked import IMAGES, ITEMS

WORDS = [b"PAR1", b"vouch", b"items/1", b"\x15\x04", b"\x15\xfe\xff\xff\xff\x0f"]


def CORPUS() -> list[bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        ITEMS.write(
            path,
            [
                {"id": str(n), "question": "q", "options": ["a", "b"], "answers": [0], "images": ["d"]}
                for n in range(3)
            ],
        )
        items = path.read_bytes()
        IMAGES.write(
            path, [{"digest": "d", "bytes": PNG, "format": "PNG", "mode": "RGB", "width": 8, "height": 6}]
        )
        images = path.read_bytes()
        write_pin(
            path,
            Pin(
                model="m",
                engine="transformers",
                source=Source(kind="folder", path="w"),
                files={"model.safetensors": "0" * 64},
            ),
        )
        return [items, images, path.read_bytes()]


def read(data: bytes, folder: Path) -> None:
    path = folder / "x"
    path.write_bytes(data)
    if data.lstrip()[:1] == b"{":
        read_pin(path)
    else:
        (IMAGES if b"images/" in data else ITEMS).read(path)
