"""One point of the plan: a checkout with a stage undone, a disturbed run, the next command, the findings."""

import re
import shutil
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import small
from tools.crash import judging
from tools.crash.disturbing import (
    COMMANDS,
    kill,
    limited,
    read_only,
    shifted,
    small_disk,
    two,
    unmount_within,
)
from tools.crash.points import Point
from tools.crash.running import Runner, end_within
from vouch.pipeline.dag import Stage, read_dag
from vouch.pipeline.files import replacing
from vouch.pipeline.records import receipt_path
from vouch.pipeline.runners import REPLACED
from vouch.pipeline.yaml12 import dumped, load

_SAID = ("ERROR", "No space left", "Read-only", "emory", "(PID", "Killed", "SIGKILL", "busy")


def reference(folder: Path) -> Checkout:
    """The undisturbed run: made by DVC where it is not there yet."""
    done = folder / "done"
    if done.exists():
        return Checkout.at(folder / "one")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    checkout = Checkout(folder / "one")
    # one dataset, of more answers than a shard of the work cache has, and one model
    (checkout.path / "params.yaml").write_text(small(train=["tiny_a"], datasets={"left": None}), "utf-8")
    checkout.set("datasets.left.settings.items", 300)
    checkout.commit("start")
    checkout.dvc("repro")
    checkout.store("sync")
    done.touch()
    return checkout


def undone(made: Checkout, place: Path, name: str) -> tuple[Checkout, Stage]:
    """A copy in which a stage has never run: no outputs, no records, no answers of a model."""
    checkout = made.copy(place)
    stage = read_dag(place)[name]
    for out in stage.outs:
        path = place / out
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    (place / receipt_path(stage)).unlink()
    lock = load(place / "dvc.lock")
    del lock["stages"][name]
    (place / "dvc.lock").write_text(dumped(lock), "utf-8")
    shutil.rmtree(place / ".dvc/cache/runs", ignore_errors=True)
    if name.startswith("extract"):
        shutil.rmtree(place / ".vouch/work")
    return checkout, stage


def attempt(point: Point, made: Checkout, place: Path) -> dict[str, Any]:
    """Tries a point in a new folder `place`, which is left as it is at the end; what was found."""
    begun = time.monotonic()
    with ExitStack() as stack:
        free = stack.enter_context(small_disk(place)) if point.kind == "full" else None
        checkout, stage = undone(made, place / "one", point.stage)
        found: dict[str, Any] = {"point": asdict(point), "hit": True, "faults": []}
        reference = judging.kept(made.path)
        orphan, before = _disturb(point, checkout, stage, place, found, free)
        told = judging.extractions(checkout.path)
        _finish(point, checkout, place, found)
        if orphan:
            orphan.settle()
        _judge(checkout, reference, before, told, found)
    found["seconds"] = round(time.monotonic() - begun, 1)
    return found


def _disturb(
    point: Point, checkout: Checkout, stage: Stage, place: Path, found: dict[str, Any], free: Any
) -> tuple[Runner | None, judging.Kept]:
    """The run that goes wrong; what it left running, and what was finished when it did."""
    log = place / "first.log"
    if point.kind in ("kill", "lock"):
        runner, found["hit"] = kill(checkout, stage, point, log)
        if point.victim == "stage" or not found["hit"]:
            runner.wait()
        return runner, _after(checkout, runner, found)
    if point.kind == "two":
        first, second = two(checkout, point, log)
        found["second"] = {"status": second.process.returncode, "said": _line(second)}
        return None, _after(checkout, first, found)
    if point.kind == "memory":
        runner = limited(checkout, point, log)
    elif point.kind == "full":
        free(point.amount)
        runner = Runner(checkout, COMMANDS[point.runner], log)
        runner.wait()
        free(None)
    elif point.kind == "readonly":
        with read_only(checkout.path / Path(stage.outs[-1]).parts[0]):
            runner = Runner(checkout, COMMANDS[point.runner], log)
            runner.wait()
    else:
        runner = Runner(checkout, shifted(point.amount, COMMANDS[point.runner]), log)
        runner.wait()
        _edit(checkout, stage)
    found["hit"] = point.kind == "clock" or runner.process.returncode != 0
    return None, _after(checkout, runner, found)


def _after(checkout: Checkout, runner: Runner, found: dict[str, Any]) -> judging.Kept:
    found["first"] = {"status": runner.process.poll(), "said": _line(runner)}
    found["faults"] += [f"looked whole: {fault}" for fault in judging.not_whole(checkout.path)]
    found["left"] = judging.leftovers(checkout.path)
    return judging.kept(checkout.path)


def _edit(checkout: Checkout, stage: Stage) -> None:
    """A comment in a file that the stage watches: it has to run again, and to make the same."""
    name = next(dep for dep in reversed(stage.deps) if dep.startswith("stages/"))
    path = checkout.path / name
    path = path / "__init__.py" if path.is_dir() else path
    with replacing(path) as temporary:
        temporary.write_text(path.read_text("utf-8") + "# edited\n", "utf-8")


def _finish(point: Point, checkout: Checkout, place: Path, found: dict[str, Any]) -> None:
    """The next plain command; where it fails, `vouch store sync` and the command again, which is a fault too.

    A dvc.lock that was cut short is what DVC refuses by itself: there `vouch store sync` is the way.
    """
    runner = Runner(checkout, COMMANDS[point.finisher], place / "next.log")
    status = runner.wait()
    found["next"] = {"status": status, "waited": "waiting for it" in runner.said()}
    if status:
        if point.kind != "lock":
            found["faults"].append(f"the next {point.finisher} failed: {_line(runner)}")
        checkout.store("sync", check=False)
        runner = Runner(checkout, COMMANDS[point.finisher], place / "again.log")
        found["next"]["after_sync"] = runner.wait()
        if point.kind == "lock" and found["next"]["after_sync"]:
            found["faults"].append(f"after `vouch store sync` {point.finisher} failed: {_line(runner)}")
    found["mended"] = (checkout.path / REPLACED).exists()
    if point.kind == "lock":
        rerun = set(re.findall(r"Running stage '([^']+)'", runner.said())) - {point.stage}
        found["faults"] += [f"made again: {name}" for name in sorted(rerun)]


def _judge(
    checkout: Checkout,
    reference: judging.Kept,
    before: judging.Kept,
    told: dict[str, bytes],
    found: dict[str, Any],
) -> None:
    root, faults = checkout.path, found["faults"]
    after = judging.kept(root)
    outputs = {
        name: digest for name, digest in reference.digests.items() if name.startswith(("data", "reports"))
    }
    here = {name: digest for name, digest in after.digests.items() if name.startswith(("data", "reports"))}
    differ = sorted(name for name in {*outputs, *here} if outputs.get(name) != here.get(name))
    faults += [f"not the undisturbed bytes: {name}" for name in dict.fromkeys(differ)]
    faults += [f"not whole: {fault}" for fault in judging.not_whole(root)]
    faults += [f"damaged in DVC's cache: {name}" for name in judging.damaged_objects(root)]
    synced = checkout.store("sync", check=False)
    if synced.returncode:
        faults.append(f"not up to date: {(synced.stderr or synced.stdout).strip().splitlines()[0]:.200}")
    if remain := judging.leftovers(root):
        checkout.store("prune", check=False)
        found["pruned"] = remain
        faults += [f"left behind: {name}" for name in judging.leftovers(root)]
    lost = judging.lost(before, after)
    found["bytes"] = {"finished": sum(before.sizes.values()), "lost": sum(lost.values())}
    faults += [f"lost: {name}" for name in sorted(lost)]
    found["answers"] = counted = judging.answers(root, told, before, after)
    if counted["twice"] or (counted["asked"] and counted["known"] < counted["kept"]):
        faults.append(f"answers asked twice: {counted}")


def _line(runner: Runner) -> str:
    """The line that says why a run ended."""
    lines = [line.strip() for line in runner.said().splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("vouch: ")]
    telling = telling[:1] or [line for line in lines if any(word in line for word in _SAID)]
    return (telling or lines or [""])[-1][:200]


def clear(place: Path) -> None:
    """Removes what a point has made, runners and mounts of a matrix that was killed as well."""
    end_within(place)
    unmount_within(place)
    shutil.rmtree(place)
