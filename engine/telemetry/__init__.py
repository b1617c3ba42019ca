"""Traces: every call of a run as an OpenTelemetry span, for Langfuse, Phoenix, Galileo and more.

A child process of the engine follows the journal, as anybody may, and sends what
is finished. So one piece serves every mode, the run is never slowed by a
collector, the queue is the journal itself, and a finished run is told by the
same code. Only the child imports OpenTelemetry.
"""
