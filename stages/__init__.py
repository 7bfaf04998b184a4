"""The stages of the pipeline: one script each, run as `python -m stages.NAME KEY...`."""

from vouch.pipeline.processor import fix_kernels

fix_kernels()
