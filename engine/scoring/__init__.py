"""Parsers, metrics and statistics. Pure functions over replies and scores."""
