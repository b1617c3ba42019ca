"""The command line. Importing it is nearly free; commands import what they need."""
