"""A model as judge of answers: which answers it reads, its prompts, and how its reply is read.

The statistics of its verdicts are in vouch/metrics/text/judge.py.
"""
