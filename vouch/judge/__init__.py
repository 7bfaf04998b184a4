"""A model as judge of answers: which answers it reads, what it is asked, and how its reply is read.

What follows from its verdicts is statistics, in vouch/metrics/text/judge.py.
"""
