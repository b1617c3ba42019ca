"""OpenSeeSimE's result files."""
