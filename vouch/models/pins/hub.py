"""Fetching a pinned commit of a hub repository into the cache of huggingface_hub."""

from pathlib import Path

from vouch.pipeline.hub import one_line
from vouch.tables.pins import hub_snapshot

BRANCH = "main"  # what a revision that is not resolved yet stands for


def fetch(repo: str, revision: str | None) -> Path:
    """The folder that holds one commit, fetched where the cache lacks it. Raises UserError.

    Only files that a model is loaded from are fetched, and none of subfolders. With HF_HUB_OFFLINE=1
    the cache alone is asked. The folder is named after the commit.
    """
    from huggingface_hub import constants

    with one_line(repo, revision or BRANCH, "pin", "source in models.lock"):
        return hub_snapshot(repo, revision or BRANCH, constants.HF_HUB_OFFLINE)
