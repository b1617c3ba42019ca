"""Local models in worker processes, on this machine or the nodes of a cluster."""
