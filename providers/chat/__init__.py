"""The chat completions protocol, spoken by OpenAI and every compatible server."""
