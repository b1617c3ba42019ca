"""Our own widgets: cheap over a slow connection, safe with foreign text."""
