"""Result files of the Bedrock evaluator and related systems."""
