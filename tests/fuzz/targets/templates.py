"""Chat templates, which come with a model, rendered within bounds."""

from pathlib import Path

from vouch.models import sandbox
from vouch.pipeline.errors import UserError

WORDS = b"""{{
}}
{%
%}
{% for m in messages %}
{% endfor %}
{% if 
{% set 
{#
range(99999)
 * 99999999
 ** 9
__class__
|attr('__init__')
messages
namespace(
{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}
|tojson
|join
raise_exception(
cycler""".split(b"\n")
ASKED = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Which?"}]},
]


def CORPUS() -> list[bytes]:
    """Those of vouch/models/chat/templates."""
    return [path.read_bytes() for path in sorted(Path("vouch/models/chat/templates").glob("*.jinja"))]


def read(data: bytes, folder: Path) -> None:
    """As for a question. What a template raises is told in a line."""
    usual, sandbox.SECONDS = sandbox.SECONDS, 0.3
    try:
        sandbox.render(data.decode("utf-8", "replace"), ASKED, {"bos_token": "<s>"}, answer=False)
    except (sandbox.Failed, sandbox.Endless, MemoryError) as error:
        raise UserError(str(error) or "nothing said") from None
    finally:
        sandbox.SECONDS = usual
