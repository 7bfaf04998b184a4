"""YAML files that people write and commands change: comments, order and quotes stay."""

from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString


class _Representer(RoundTripRepresenter):
    """Writes null as `null`, as people do, not as nothing."""

    def represent_null(self, _value: None) -> ScalarNode:
        node: ScalarNode = self.represent_scalar("tag:yaml.org,2002:null", "null")
        return node


_Representer.add_representer(type(None), _Representer.represent_null)


def round_trip() -> YAML:
    """A reader and writer that leaves what it does not change as it is."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 100_000  # digests stay on their lines
    return yaml


def dumped(yaml: YAML, document: Any) -> str:
    """The text of a document."""
    out = StringIO()
    yaml.dump(document, out)
    return out.getvalue()


def quoted(text: str) -> DoubleQuotedScalarString:
    """A commit or digest: some are numbers to YAML where they stand bare."""
    scalar: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return scalar
