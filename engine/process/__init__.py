"""Engine processes: launched, steered by commands, stopped."""
