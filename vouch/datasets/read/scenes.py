"""What the loaders of the demo's rendered pictures have in common."""

from pydantic import Field

from vouch.datasets.raw import LoaderSettings
from vouch.datasets.read.files import Source
from vouch.demo.scenes.sampling import Phrasings


class SceneSettings(LoaderSettings):
    """seed: of everything drawn. items: how many.

    phrasings: wordings that the demo models were trained on, or ones they never met.
    """

    seed: int = Field(ge=0)
    items: int = Field(ge=1, le=1_000_000)
    phrasings: Phrasings = "trained"


def count_items(source: Source, name: str, settings: SceneSettings) -> int:
    """Number of items that `read` yields."""
    return settings.items
