"""OpenSeeSimE: questions about pictures and videos of engineering simulations."""
