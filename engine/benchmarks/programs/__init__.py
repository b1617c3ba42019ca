"""Benchmarks whose answers are Python programs, which are run in a sandbox against tests."""
