"""MMLU: multiple-choice questions over 57 subjects."""
