"""One page of the app each."""
