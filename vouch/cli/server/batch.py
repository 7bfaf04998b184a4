"""Write the requests to a served model as OpenAI's batch files, or read the answers that came of them.

Only what is not answered yet is written; answers are kept as if they had been asked for live, and `dvc repro`
then finds them. A dialogue is exported again once its first turns are imported. Likelihoods are left out.

Examples:
  vouch server batch export mini requests      requests/1.jsonl, ... to upload, with purpose `batch`
  vouch server batch import mini output.jsonl errors.jsonl
"""

import argparse
from pathlib import Path
from types import TracebackType
from typing import IO

from vouch.cli.printing import check_name, file_argument, plain
from vouch.models.lock_entry import SERVER_ENGINE
from vouch.models.requests import DatasetRequests, Session
from vouch.models.server.batch import Batch, Replies, exchanged
from vouch.params.check import check_project
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder
from vouch.report.formatting import plural
from vouch.tables.answered import pin_path, read_pin

MOST_REQUESTS, MOST_BYTES = 50_000, 190_000_000  # of a file; OpenAI takes 50,000 and 200 MB


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch server batch`."""
    parser.add_argument("action", choices=["export", "import"])
    parser.add_argument("model", help="a served model of params.yaml")
    parser.add_argument(
        "paths",
        nargs="+",
        type=file_argument,
        metavar="PATH",
        help="export: a new folder; import: files of answers",
    )


def run(options: argparse.Namespace) -> int:
    """Writes or reads."""
    project = check_project()
    check_name("model", options.model, project.models)
    pin = read_pin(pin_path(options.model))
    if pin.engine != SERVER_ENGINE:
        raise UserError(
            f"models.lock: {options.model}: is no served model (engine {pin.engine}), so has no batch files"
        )
    session = Session(pin, project.extract)
    datasets = [DatasetRequests(session, name) for name in project.datasets]
    if options.action == "import":
        replies = Replies()
        for path in options.paths:
            replies.add(path)
        engine = Batch(pin, None, replies)
        for dataset in datasets:
            kept, lacking = exchanged(dataset, engine)
            print(f"{dataset.label}: {kept} answers taken, {lacking} still to be asked", flush=True)
        return 0
    if len(options.paths) > 1:
        raise UserError(f"{options.paths[1]}: export takes one folder; leave this out")
    folder = options.paths[0]
    if folder.exists():
        raise UserError(f"{folder}: exists; name a new folder")
    with replacing_folder(folder) as temporary, Parts(temporary) as parts:
        for dataset in datasets:
            exchanged(dataset, Batch(pin, parts.write, Replies()))
    print(f"{plural(parts.requests, 'request')} in {plural(parts.files, 'file')} in {plain(folder)}")
    return 0


class Parts:
    """Files 1.jsonl, 2.jsonl, ... of a folder, each as large as a host takes it; every id stands once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._left = 0, 0  # requests and bytes that the file still takes
        self._ids: set[str] = set()
        self.files = 0

    @property
    def requests(self) -> int:
        """How many were written."""
        return len(self._ids)

    def __enter__(self) -> "Parts":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, name: str, line: str) -> None:
        """Adds a request, unless one of this name was added."""
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
