"""Traces: every call of a run as an OpenTelemetry span, for Langfuse, Phoenix, Galileo and more.

A child process of the engine follows the journal, as any program may, and sends what is
finished. So one implementation serves every mode, a run is never slowed down by a collector, the
queue is the journal itself, and finished runs are exported by the same code. Only the child
imports OpenTelemetry.
"""
