"""The Hugging Face hub: names as people write them, and errors of its client as one line to act on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from vouch.pipeline.errors import UserError

BRANCH = "main"  # used while no revision is known
REPOSITORY = r"\w[\w.-]*"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def commit(value: object) -> object:
    """A commit, or null while it is not known. Raises ValueError for branches and tags: they move.

    YAML reads an unquoted commit of digits (or with one e) as a number, so this comes before type checks.
    """
    if value is not None and (not isinstance(value, str) or not _COMMIT.fullmatch(value)):
        raise ValueError(
            "give a commit, all 40 hexadecimal digits in quotes (branches and tags move), or null"
        )
    return value


@contextmanager
def one_line(repo: str, revision: str, command: str, where: str) -> Iterator[None]:
    """Turns exceptions of the hub's client into a UserError.

    command: to be run again. where: the key or option to correct, which names the repository and revision.
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
        if isinstance(error.__cause__, HfHubHTTPError):
            problem = _answered(error.__cause__.response.status_code, command)
        else:
            problem = _not_local(error, constants.HF_HUB_OFFLINE, command)
    except HfHubHTTPError as error:
        problem = _answered(error.response.status_code, command)
    except Exception as error:  # anything that the network or the disk raises, also during a download
        problem = _lost(error, command)
    raise UserError(f"{repo} at {revision[:12]}: {problem}")


def _answered(status: int, command: str) -> str:
    if status == 429:
        return f"the hub answered 429, too many questions; wait, and run `{command}` again"
    return f"the hub answered {status}; log in with `hf auth login`, or try later"


def _not_local(error: Exception, offline: bool, command: str) -> str:
    if offline:
        return f"not whole in the local cache; run `{command}` without HF_HUB_OFFLINE"
    reason = type(error.__cause__ or error).__name__
    return f"no answer from the hub ({reason}), not whole in the local cache; run `{command}` with a network"


def _lost(error: Exception, command: str) -> str:
    if type(error).__name__ in ("ConnectError", "ConnectTimeout"):  # whichever httpx the client uses
        return f"no answer from the hub ({type(error).__name__}); run `{command}` on a machine with a network"
    if isinstance(error, OSError) and error.filename:  # a home that cannot be written, a full disk
        return f"{error.filename}: {error.strerror}; make room, or name another folder as HF_HOME"
    return f"the hub was lost ({type(error).__name__}: {str(error)[:160]}); run `{command}` again"
