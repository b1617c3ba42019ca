"""The vocabulary: what is asked of a model, what comes back, and the provider interface.

Providers import this package (and the leaf modules it builds on) and nothing else of the
engine.
"""

from evalbench.engine.calls.batches import BatchApi, BatchJob, BatchTerms, JobState, ResultLine
from evalbench.engine.calls.messages import (
    Call,
    MediaPart,
    Message,
    ModelRef,
    Part,
    Prompt,
    TextPart,
    assistant,
    choose,
    generate,
    system,
    user,
)
from evalbench.engine.calls.params import PARAM_OPTIONS, PARAMETERS, Parameter, Params
from evalbench.engine.calls.provider import (
    GATEWAY_OPTIONS,
    NETWORK_OPTIONS,
    PLACES,
    BaseProvider,
    Capabilities,
    GatewayOptions,
    KeyNeed,
    ModelInfo,
    NetworkOptions,
    Provider,
    Published,
    WorkerCommand,
    WorkerProvider,
)
from evalbench.engine.calls.replies import Outcome, ParamNote, RateLimits, Reply, Reused, Usage

__all__ = [
    "GATEWAY_OPTIONS",
    "NETWORK_OPTIONS",
    "PARAMETERS",
    "PARAM_OPTIONS",
    "PLACES",
    "BaseProvider",
    "BatchApi",
    "BatchJob",
    "BatchTerms",
    "Call",
    "Capabilities",
    "GatewayOptions",
    "JobState",
    "KeyNeed",
    "MediaPart",
    "Message",
    "ModelInfo",
    "ModelRef",
    "NetworkOptions",
    "Outcome",
    "ParamNote",
    "Parameter",
    "Params",
    "Part",
    "Prompt",
    "Provider",
    "Published",
    "RateLimits",
    "Reply",
    "ResultLine",
    "Reused",
    "TextPart",
    "Usage",
    "WorkerCommand",
    "WorkerProvider",
    "assistant",
    "choose",
    "generate",
    "system",
    "user",
]
