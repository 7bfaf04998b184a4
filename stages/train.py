"""python -m stages.train NAME: trains a demo model -> data/models/NAME and its pin data/models/NAME.json."""

from vouch.demo.training.config import Config
from vouch.params.start import run_stage
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.stage import Run
from vouch.tables.pins import Pin, Source, folder_digests, pin_path, write_pin

_FAMILIES = {"llava": "vouch-zoo", "idefics3": "vouch-zoo-idefics3"}


def main(run: Run) -> None:
    """Trains, saves and pins the model that the stage's key names."""
    from vouch.demo.training.saving import save
    from vouch.demo.training.training import train

    (name,) = run.keys
    config = Config.model_validate(run.params["train"][name])
    trained = train(config, lambda steps: run.progress(steps, total=len(steps), label=f"train {name}"))
    pin = pin_path(name)
    folder = pin.with_suffix("")
    with replacing_folder(folder) as temporary:
        save(trained.model, trained.processor, temporary)
    write_pin(
        pin,
        Pin(
            model=name,
            engine="transformers",
            source=Source(kind="zoo", path=folder.as_posix()),
            files=folder_digests(folder),
            parameters=sum(weight.numel() for weight in trained.model.parameters()),
            facts={"family": _FAMILIES[config.family], "licence": "Apache-2.0"},
        ),
    )
    run.note("dev_accuracy", round(trained.accuracy, 4))
    run.note("dev_pair_accuracy", round(trained.pair_accuracy, 4))
    run.note("steps", len(trained.losses))


if __name__ == "__main__":
    run_stage("train", main)
