"""The tables and figures of five published studies, built from the results here.

A study is a file, or two, that declares a `Paper`: each entry has its name in the paper, a sentence on what
it shows, and a function that builds it from `Lookup` (entry.py) or raises `Absent` with the reason why it
cannot. page.py shows them on the report's page Papers.
"""
