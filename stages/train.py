"""train: `python -m stages.train NAME` trains a demo model.

Output   data/trained/NAME: configuration, tokenizer, processor and weights as transformers saves them
"""

from pathlib import Path

from vouch.demo.config import Config
from vouch.params.start import run_stage
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.run import Run

TRAINED = Path("data/trained")


def main(run: Run) -> None:
    """Trains and saves the model that the stage's key names."""
    from vouch.demo.training import save, train

    (name,) = run.keys
    config = Config.model_validate(run.params["train"][name])
    trained = train(config, lambda steps: run.progress(steps, total=len(steps), label=f"train {name}"))
    with replacing_folder(TRAINED / name) as temporary:
        save(trained.model, trained.processor, temporary)
    run.note("dev_accuracy", round(trained.accuracy, 4))
    run.note("dev_pair_accuracy", round(trained.pair_accuracy, 4))
    run.note("steps", len(trained.losses))


if __name__ == "__main__":
    run_stage("train", main)
