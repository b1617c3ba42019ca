"""Colour themes of the screen: data only."""
