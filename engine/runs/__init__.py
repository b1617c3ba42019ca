"""Runs on disk: folders, status, and what readers see of them."""
