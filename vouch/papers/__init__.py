"""The tables and figures of five published studies, built from the results here.

One file declares a `Paper` for each study, and others named after it hold its tables. Each of its entries has
its name in the paper, a sentence that describes it, and a function that builds it from `Lookup` (entry.py) or
raises `Absent` with the reason why it cannot. page.py shows the papers on the report's page Papers.
"""
