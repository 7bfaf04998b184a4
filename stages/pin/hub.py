"""Fetching a pinned commit of a hub repository into the cache of huggingface_hub."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stages.contracts.pins import hub_snapshot
from stages.runtime.errors import UserError

BRANCH = "main"  # what a revision that is not resolved yet stands for


def fetch(repo: str, revision: str | None) -> Path:
    """The folder that holds one commit, fetched where the cache lacks it. Raises UserError.

    Only files that a model is loaded from are fetched, and none of subfolders. With HF_HUB_OFFLINE=1
    the cache alone is asked. The folder is named after the commit.
    """
    from huggingface_hub import constants

    with one_line(repo, revision or BRANCH, "pin", "source in models.lock"):
        return hub_snapshot(repo, revision or BRANCH, constants.HF_HUB_OFFLINE)


@contextmanager
def one_line(repo: str, revision: str, command: str, where: str) -> Iterator[None]:
    """Turns what the hub's client raises into a UserError.

    command: what to run again. where: what names the repository and revision, to be corrected.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
        SafetensorsParsingError,
    )

    try:
        yield
        return
    except UserError:
        raise
    except GatedRepoError:
        problem = "gated; accept its terms on the hub and log in with `hf auth login`"
    except RevisionNotFoundError:
        problem = f"the repository has no such commit or branch; correct {where}"
    except RepositoryNotFoundError:
        problem = f"no such repository, or a private one; correct {where}, or `hf auth login`"
    except SafetensorsParsingError:
        problem = f"its weights are damaged; correct {where}"
    except OfflineModeIsEnabled:
        problem = f"the hub must be asked; run `{command}` without HF_HUB_OFFLINE"
    except LocalEntryNotFoundError as error:
        problem = _not_local(error, constants.HF_HUB_OFFLINE, command)
    except HfHubHTTPError as error:
        problem = f"the hub answered {error.response.status_code}; log in with `hf auth login`, or try later"
    except Exception as error:  # whatever the transport or the disk raises, in the middle of a download too
        problem = f"the hub was lost ({type(error).__name__}: {str(error)[:160]}); run `{command}` again"
    raise UserError(f"{repo} at {revision[:12]}: {problem}")


def _not_local(error: Exception, offline: bool, command: str) -> str:
    if offline:
        return f"not whole in the local cache; run `{command}` without HF_HUB_OFFLINE"
    reason = type(error.__cause__ or error).__name__
    return f"no answer from the hub ({reason}), not whole in the local cache; run `{command}` with a network"
