"""Rankers: what tells without labels which model is better, one file each (Tu et al. 2024).

A file defines NEEDS, the signals of which a task must have one (of tasks without samples where it is empty),
and one of

per_item(task) -> [models, items]                 the model's value is the mean; NaN where it is not known
per_proxy(task, proxy, alpha) -> [models, items]  with a labelled dataset that was read out the same way; both
                                                  tasks have the same models

Higher is better, always. UNCERTAINTY = True: the authors' own score is the negative of it.
"""
