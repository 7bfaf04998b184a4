"""The datasets and models of Kostumov et al. 2024, as they name them."""

from vouch.report.reproduce.entry import models

DATASETS = {"mmbench": "MMB", "oodcv": "OOD", "scienceqa": "SQA", "seedbench": "SB", "ai2d": "AI2D"}
SEVENTH = models("kostumov_vii")
"""The models of table VII."""
TEN = models("kostumov")
"""Those of tables I to VI."""
# category of the dataset to the head of the column
SEED = {
    "Scene Understanding": "SU",
    "Instance Identity": "II",
    "Instance Location": "IL",
    "Instance Attributes": "IA",
    "Instances Counting": "IC",
}
SITUATIONS = {
    "weather": "W",
    "context": "Con",
    "occlusion": "Occ",
    "iid": "IID",
    "texture": "Txt",
    "shape": "Shape",
    "pose": "Pose",
}
