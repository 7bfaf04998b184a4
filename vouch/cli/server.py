"""Exchange requests and answers with models on a server."""

import argparse
from pathlib import Path
from types import TracebackType
from typing import IO

from vouch.cli.command import argument, command, path_argument
from vouch.cli.printing import plain
from vouch.models.lock_entry import SERVER_ENGINE
from vouch.models.requests import DatasetRequests, Session
from vouch.params.check import check_project
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import replacing_folder
from vouch.report.formatting import plural
from vouch.tables.answered import pin_path, read_pin

MOST_REQUESTS, MOST_BYTES = 50_000, 190_000_000  # per file; OpenAI accepts 50,000 requests and 200 MB


@command(
    "server batch",
    "write requests as OpenAI's batch files, and read the answers to them",
    argument("action", choices=["export", "import"]),
    argument("model", names="models", help="a served model of params.yaml"),
    path_argument("paths", nargs="+", metavar="PATH", help="export: a new folder; import: files of answers"),
)
def run_batch(options: argparse.Namespace) -> int:
    """Write the requests to a served model as OpenAI's batch files, or read the answers to them.

    Only requests without an answer are written. Imported answers are kept as if the server had been asked
    live, and `dvc repro` then uses them. When you have imported the first turns of a dialogue, export again
    for the next turns. Likelihoods are left out.

    Examples:
      vouch server batch export mini requests      requests/1.jsonl, ... to upload, with purpose `batch`
      vouch server batch import mini output.jsonl errors.jsonl
    """
    # Here, since the client of OpenAI takes a second to load and TAB and `--help` need none of it.
    from vouch.models.server.batch import Replies, RequestBatch, exchanged

    project = check_project()
    check_name("model", options.model, project.models)
    pin = read_pin(pin_path(options.model))
    if pin.engine != SERVER_ENGINE:
        raise UserError(
            f"models.lock: {options.model}: is not on a server (engine {pin.engine}), so has no batch files"
        )
    session = Session(pin, project.extract)
    datasets = [DatasetRequests(session, name) for name in project.datasets]
    if options.action == "import":
        replies = Replies()
        for path in options.paths:
            replies.add(path)
        engine = RequestBatch(pin, None, replies)
        for dataset in datasets:
            kept, unanswered = exchanged(dataset, engine)
            print(f"{dataset.label}: {kept} answers taken, {unanswered} still to be asked", flush=True)
        return 0
    if len(options.paths) > 1:
        raise UserError(f"{options.paths[1]}: export takes one folder; leave this out")
    folder = options.paths[0]
    if folder.exists():
        raise UserError(f"{folder}: exists; name a new folder")
    with replacing_folder(folder) as temporary, RequestFiles(temporary) as parts:
        for dataset in datasets:
            exchanged(dataset, RequestBatch(pin, parts.write, Replies()))
    print(f"{plural(parts.requests, 'request')} in {plural(parts.files, 'file')} in {plain(folder)}")
    return 0


class RequestFiles:
    """Files 1.jsonl, 2.jsonl, ... in a folder, none too large for a host; every id occurs only once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._left = 0, 0  # requests and bytes for which the file still has room
        self._ids: set[str] = set()
        self.files = 0

    @property
    def requests(self) -> int:
        """The number of requests that were written."""
        return len(self._ids)

    def __enter__(self) -> "RequestFiles":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, name: str, line: str) -> None:
        """Adds a request, unless one with the same name was added before."""
        if name in self._ids:
            return
        self._ids.add(name)
        data = line.encode()
        requests, room = self._left
        if not requests or room < len(data):
            if self._file is not None:
                self._file.close()
            self.files += 1
            self._file = (self._folder / f"{self.files}.jsonl").open("wb")
            requests, room = MOST_REQUESTS, MOST_BYTES
        assert self._file is not None
        self._file.write(data)
        self._left = requests - 1, room - len(data)
