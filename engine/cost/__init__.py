"""The cost of calls: unit prices, token counts before a call, estimates, and the hard budget."""
