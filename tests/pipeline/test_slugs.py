"""File and rule names of stages: no two stages share one, whatever the models and datasets are called."""

from vouch.pipeline.dag import Stage


def slug(name: str) -> str:
    return Stage(name, "", (), (), {}).slug


def test_models_and_datasets_that_join_to_the_same_letters() -> None:
    names = ["extract@a-b_c", "extract@a_b-c", "extract@a_b_c-d", "score@released_x", "score_released@x"]
    assert len({slug(name) for name in names}) == len(names)


def test_names_fit_files_and_rules() -> None:
    assert slug("extract@tiny_a-left") == "extract-tiny_a-left" and slug("compare") == "compare"
