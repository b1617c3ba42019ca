"""Drives a run: reads the journal first, then asks a model; resume, reuse and re-scoring."""
