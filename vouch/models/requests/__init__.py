"""Requests to a model, and the work cache of its answers.

prompt_table -> keys -> dataset_requests -> stream -> an engine -> work_cache -> answers -> responses.
"""
