"""Widgets of our own: cheap on the line, safe with foreign text."""
