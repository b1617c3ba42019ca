"""Runs on disk: folders, status, and reading them."""
