"""What a run is asked to be: its spec and roles, and the plug-ins it names."""
