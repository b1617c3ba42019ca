"""Folders of the Claude MMLU Experimenter."""
