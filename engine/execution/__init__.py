"""Driving a run: the journal first, then a model; resume, reuse and rescoring."""
