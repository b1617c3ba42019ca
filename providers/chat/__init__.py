"""The chat completions protocol, spoken by OpenAI and by every compatible server."""
