"""SpecEval's folders."""
