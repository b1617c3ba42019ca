"""A server as a stranger would write it, knowing nothing of our simulator."""
