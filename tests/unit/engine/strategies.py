"""Any call and any reply, for properties that must hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from evalbench.engine.calls import (
    Call,
    MediaPart,
    Message,
    ModelRef,
    Outcome,
    ParamNote,
    Params,
    Prompt,
    Reply,
    TextPart,
    Usage,
)

names = st.text(st.characters(codec="utf-8", exclude_characters="/@"), min_size=1, max_size=8)
texts = st.text(max_size=20)
parts = st.one_of(
    st.builds(TextPart, texts, st.booleans()),
    st.builds(MediaPart, st.sampled_from(["image/png", "image/jpeg"]), st.binary(max_size=8)),
)
roles = st.sampled_from(["system", "user", "assistant", "context"])
messages = st.builds(Message, roles, st.lists(parts, max_size=3).map(tuple))
params = st.builds(
    Params,
    max_tokens=st.none() | st.integers(1, 10**6),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    top_k=st.none() | st.integers(1, 1000),
    seed=st.none() | st.integers(0, 2**31),
    stop=st.lists(texts, max_size=2).map(tuple),
    effort=st.none() | st.sampled_from(["low", "high"]),
    thinking_budget=st.none() | st.integers(0, 10**5),
    logprobs=st.none() | st.integers(0, 20),
    schema=st.none() | st.just('{"type":"object"}'),
)
prompts = st.builds(
    Prompt,
    st.sampled_from(["generate", "choose"]),
    st.lists(messages, max_size=4).map(tuple),
    st.lists(texts, max_size=4).map(tuple),
    params,
)
models = st.builds(ModelRef, names, names, st.just("") | names)
calls = st.builds(Call, models, prompts)

counts = st.none() | st.integers(0, 10**7)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
replies = st.builds(
    Reply,
    text=texts,
    outcome=st.sampled_from([outcome for outcome in Outcome if outcome is not Outcome.UNPARSED]),
    reasoning=texts,
    stop_reason=texts,
    logprobs=st.lists(st.floats(allow_nan=False), max_size=4).map(tuple),
    usage=st.builds(Usage, counts, counts, counts, counts, counts),
    latency_s=st.floats(0, 1e4),
    provider_model=texts,
    request_id=texts,
    params=st.lists(
        st.builds(ParamNote, texts, st.sampled_from(["sent", "dropped", "refused"]), texts),
        max_size=3,
    ).map(tuple),
    raw=json_values,
    error=texts,
    possibly_billed=st.booleans(),
    attempts=st.integers(1, 100),
    notes=st.lists(texts, max_size=2).map(tuple),
)
