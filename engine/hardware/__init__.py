"""This machine: GPU readings, free memory, and whether a model fits."""
