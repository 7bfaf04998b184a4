"""extract: `python -m stages.extract MODEL DATASET` asks one model every prompt of one dataset.

Inputs   data/models/MODEL.json and the model it pins, data/prompts/DATASET.parquet,
         data/images/DATASET.parquet
Outputs  data/responses/MODEL/DATASET.{letters,likelihood,text}.parquet, in the order of the prompts
"""

from stages.contracts.pins import pin_path, read_pin
from stages.extract.asked_dataset import AskedDataset
from stages.extract.asked_model import AskedModel
from stages.extract.config import Config
from stages.extract.extraction import answer
from stages.extract.responses import write
from stages.runtime.stage import Run, run_stage


def main(run: Run) -> None:
    """Answers and writes."""
    model, name = run.keys
    config = Config.model_validate(run.params["extract"])
    dataset = AskedDataset(AskedModel(read_pin(pin_path(model)), config), name)
    notes = answer(dataset, run.progress)
    for key, fact in {**notes, **write(dataset)}.items():
        run.note(key, fact)


if __name__ == "__main__":
    run_stage("extract", main)
