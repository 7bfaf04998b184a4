"""Names of the Hugging Face hub as people write them into params.yaml and models.lock, checked there."""

import re

REPOSITORY = r"\w[\w.-]*"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def commit(value: object) -> object:
    """A commit, or null while it is not known. Raises ValueError for branches and tags: they move.

    Unquoted, a commit of digits alone (or with one e) is a number to YAML, so this comes before types.
    """
    if value is not None and (not isinstance(value, str) or not _COMMIT.fullmatch(value)):
        raise ValueError(
            "give a commit, all 40 hexadecimal digits in quotes (branches and tags move), or null"
        )
    return value
