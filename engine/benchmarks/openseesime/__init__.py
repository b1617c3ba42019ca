"""OpenSeeSimE: questions about images and videos of engineering simulations."""
