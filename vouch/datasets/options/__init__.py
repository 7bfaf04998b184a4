"""How the options of a dataset are brought to one number, by the schemes that its entry can name.

kostumov.py gives choices other options, reform.py makes choices of open questions; each ends with the
names of its schemes. What is drawn depends on the items and a seed alone.
"""
