"""Nonconformity scores, one file each. A file defines, for Beliefs of n prompts with k letters:

answer_scores(beliefs) -> [n]             the authors' score of the answer, in the stored dtype
authors_sets(beliefs, threshold) -> Sets  the authors' prediction sets
nonconformity(beliefs) -> [n, k]          the score by its definition, for every letter; the clean reading
                                          builds {letters with a score <= threshold} from it

An item with several answers has the smallest score among them, because a set covers it as soon as
it holds one of them.
"""
