"""Which models a server has, by the list that it gives of them."""

import json

import httpx2

from vouch.pipeline.errors import UserError

MOST = 1 << 20  # bytes of the list
SECONDS = 20.0


def served(url: str) -> list[str]:
    """Names of the models at an address, asked without a key. Raises UserError."""
    asked = f"{url.rstrip('/')}/models"
    try:
        with httpx2.stream("GET", asked, timeout=SECONDS, headers={"accept-encoding": "identity"}) as answer:
            answer.raise_for_status()
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ValueError("it is compressed")
            body = b""
            for chunk in answer.iter_raw():
                body += chunk
                if len(body) > MOST:
                    raise ValueError(f"it has more than {MOST:,} bytes")
        return [str(model["id"]) for model in json.loads(body)["data"]]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
        what = " ".join(str(error).split())[:120]
        raise UserError(
            f"{asked}: gives no list of models ({what}); start the server, or write {url}#NAME with the name "
            "that the model has there"
        ) from None
