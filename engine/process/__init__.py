"""Engine processes: starting, controlling and stopping them."""
