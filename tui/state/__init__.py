"""Presentation state shared by screens and the command line, independent of both."""
