"""extract: `python -m stages.extract MODEL DATASET` asks one model every prompt of one dataset.

Inputs   data/models/MODEL.json and the model that it pins (or its released answers),
         data/prompts/DATASET.parquet, data/images/DATASET.parquet, data/items/DATASET.parquet
Outputs  data/responses/DATASET/MODEL.{letters,likelihood,text}.parquet, in the order of the prompts
"""

from vouch.models.config import ExtractConfig
from vouch.models.requests import DatasetRequests, Session, answer, write
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.tables.answered import pin_path, read_pin


def main(run: Run) -> None:
    """Asks the model and writes its answers."""
    model, name = run.keys
    pin = read_pin(pin_path(model))
    if pin.source.kind == "released":
        from vouch.models.released.answers import write_released

        run.note("rows", write_released(pin, name))
        return
    config = ExtractConfig.model_validate(run.params["extract"])
    dataset = DatasetRequests(Session(pin, config), name)
    for key, fact in answer(dataset, run.progress).items():
        run.measure(key, fact)
    for key, fact in write(dataset).items():
        run.note(key, fact)


if __name__ == "__main__":
    run_stage("extract", main)
