"""The app's screens, one module per page."""
