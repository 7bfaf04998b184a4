"""From evidence and pictures to the HTML of the page."""

from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from stages.report import palette, sections
from stages.report.config import Config
from stages.report.evidence import Evidence
from stages.report.plugins import plugins


@dataclass(frozen=True)
class Picture:
    """svg: for use inside the page. title: its heading. description: the picture in words."""

    svg: str
    title: str
    description: str


def breakable(text: str) -> Markup:
    """The text, escaped, with leave to break the line after each underscore."""
    return Markup(str(escape(text)).replace("_", "_<wbr>"))


def environment() -> Environment:
    """Jinja with escaping everywhere; an unknown name in a template is an error."""
    env = Environment(
        loader=PackageLoader("stages.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["breakable"] = breakable
    return env


def _source(env: Environment, name: str) -> Markup:
    """Our own style sheet or script, which is not to be escaped."""
    loader = env.loader
    assert loader is not None
    return Markup(loader.get_source(env, name)[0])


def _dark() -> Markup:
    """Rules that swap the colours of figures for their dark ones."""
    rules = []
    for light, dark in palette.DARK.items():
        for attribute in ("fill", "stroke"):
            rules.append(f'figure svg [{attribute}="{light}"]{{{attribute}:{dark}}}')
    return Markup("\n".join(rules))


def page(config: Config, evidence: Evidence, pictures: Mapping[tuple[str, str], Picture]) -> str:
    """The whole page. pictures: by name of the figure and dataset; a missing one is left out."""
    env = environment()
    views = {name: module.build(evidence) for name, module in plugins(sections).items()}
    return env.get_template("page.html.j2").render(
        title=config.title,
        style=_source(env, "page.css"),
        script=_source(env, "page.js"),
        theme=_source(env, "theme.js"),
        dark=_dark(),
        evidence=evidence,
        pictures={
            key: {"svg": Markup(p.svg), "title": p.title, "description": p.description}
            for key, p in pictures.items()
        },
        **views,
    )
