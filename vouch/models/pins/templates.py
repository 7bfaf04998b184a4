"""Chat templates that stand in for those that models lack: vouch/models/chat/templates/NAME.jinja."""

from pathlib import Path

from vouch.pipeline.errors import UserError, did_you_mean

TEMPLATES = Path("vouch/models/chat/templates")


def read_template(name: str) -> str:
    """The text of a template. Raises UserError for an unknown one, with those there are."""
    known = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
    if name not in known:
        raise UserError(f"models.lock: no template {name} in {TEMPLATES}; {did_you_mean(name, known)}")
    return (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
