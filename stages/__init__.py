"""The stages of the pipeline: one script each, run as `python -m stages.NAME KEY...`."""

from vouch.pipeline.processor import keep_to_avx2

keep_to_avx2()
