"""Chat templates, which come with a model, rendered within bounds."""

from pathlib import Path

from vouch.models.chat import rendering
from vouch.pipeline.errors import UserError

WORDS = [
    *(b"{{", b"}}", b"{%", b"%}", b"{% for m in messages %}", b"{% endfor %}", b"{% if ", b"{% set ", b"{#"),
    *(
        b"range(99999)",
        b" * 99999999",
        b" ** 9",
        b"__class__",
        b"|attr('__init__')",
        b"messages",
        b"namespace(",
    ),
    *(
        b"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        b"|tojson",
        b"|join",
        b"raise_exception(",
        b"cycler",
    ),
]
ASKED = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Which?"}]},
]


def CORPUS() -> list[bytes]:
    """Those of vouch/models/chat/templates."""
    return [path.read_bytes() for path in sorted(Path("vouch/models/chat/templates").glob("*.jinja"))]


def read(data: bytes, folder: Path) -> None:
    """As for a question. What a template raises is told in a line."""
    usual, rendering.SECONDS = rendering.SECONDS, 0.3
    try:
        rendering.render(data.decode("utf-8", "replace"), ASKED, {"bos_token": "<s>"}, answer=False)
    except (rendering.Failed, rendering.Endless, MemoryError) as error:
        raise UserError(str(error) or "nothing said") from None
    finally:
        rendering.SECONDS = usual
