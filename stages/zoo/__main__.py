"""zoo: `python -m stages.zoo NAME` trains one demo model and pins it.

Outputs  data/models/NAME/ (weights and processor), data/models/NAME.json (the pin)
"""

from stages.contracts.files import replacing_folder
from stages.contracts.pins import Pin, Source, folder_digests, pin_path, write_pin
from stages.runtime.stage import Run, run_stage
from stages.zoo.config import Config


def main(run: Run) -> None:
    """Trains, saves, pins."""
    from stages.zoo.training import train

    (name,) = run.keys
    trained = train(
        Config.model_validate(run.params["zoo"][name]),
        lambda phases: run.progress(phases, total=len(phases), label=f"train {name}"),
    )
    folder = pin_path(name).with_suffix("")
    with replacing_folder(folder) as temporary:
        trained.model.save_pretrained(temporary)
        trained.processor.save_pretrained(temporary)
    parameters = sum(weight.numel() for weight in trained.model.parameters())
    source = Source(kind="zoo", path=str(folder))
    pin = Pin(model=name, engine="transformers", source=source, files=folder_digests(folder), parameters=parameters)
    write_pin(pin_path(name), pin)


if __name__ == "__main__":
    run_stage("zoo", main)
