"""The command line: parses, starts engines, prints. Imports nothing heavy."""
