"""The stages of the pipeline: one package per stage, run as `python -m stages.NAME KEY...`."""
