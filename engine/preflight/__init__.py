"""Before a run: a short-lived child loads what is heavy, estimates and checks."""
