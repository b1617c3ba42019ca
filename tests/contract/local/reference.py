"""The slow and obvious way: one plain forward pass per continuation, as published harnesses do."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Plain:
    """A model folder loaded without any of our code."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def loglikelihood(self, context: str, continuation: str, limit: int = 512) -> float:
        """Summed natural-log likelihood of ``continuation`` behind ``context``."""
        spaces = len(context) - len(context.rstrip())
        if spaces:
            continuation = context[-spaces:] + continuation
            context = context[:-spaces]
        if context:
            before = self.tokenizer.encode(context)
            after = self.tokenizer.encode(context + continuation)[len(before) :]
        else:
            before = [self.tokenizer.bos_token_id]
            after = self.tokenizer.encode(continuation)
        return self.of_tokens(before, after, limit)

    def of_tokens(self, before: list[int], after: list[int], limit: int = 512) -> float:
        """The same for tokens; the beginning is cut off where the model's context ends."""
        import torch

        tokens = [*before, *after][-(limit + 1) :][:-1]
        with torch.inference_mode():
            logits = self.network(input_ids=torch.tensor([tokens])).logits[0, -len(after) :]
        logprobs = logits.double().log_softmax(-1)
        return float(logprobs[torch.arange(len(after)), torch.tensor(after)].sum())

    def greedy(self, tokens: list[int], count: int) -> list[int]:
        """The ``count`` tokens that follow by taking the likeliest each time."""
        import torch

        answer: list[int] = []
        with torch.inference_mode():
            for _ in range(count):
                ids = torch.tensor([[*tokens, *answer]])
                answer.append(int(self.network(input_ids=ids).logits[0, -1].argmax()))
        return answer
