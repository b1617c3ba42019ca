"""What calls cost: unit prices, token counts before a call, estimates, and the hard budget."""
