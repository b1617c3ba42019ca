"""Result files of the Bedrock evaluator and its sisters."""
