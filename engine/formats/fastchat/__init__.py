"""FastChat's MT-bench files."""
