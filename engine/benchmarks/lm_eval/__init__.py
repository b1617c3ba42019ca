"""Any task of lm-evaluation-harness, through the library itself."""
