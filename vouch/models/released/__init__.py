"""released: what others released of a model becomes its responses. One file form per file of forms/."""
