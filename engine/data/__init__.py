"""Data sets and media: read from files, prepared once, cached."""
