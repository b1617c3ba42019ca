"""code-prediction and code-choice: what does a program return, and which would the model run?"""
