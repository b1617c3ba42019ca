"""Files of lm-evaluation-harness."""
