"""Benchmarks whose answers are Python programs, tested in a sandbox."""
