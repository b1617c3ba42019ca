"""The command line. Importing it costs next to nothing; commands import what they need."""
