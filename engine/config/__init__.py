"""The configuration of a run: its spec and roles, and the plug-ins it names."""
