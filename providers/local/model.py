"""One loaded model and its forward pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from evalbench.providers.local.chat import ChatTemplate
from evalbench.providers.local.likeliest import Likeliest
from evalbench.providers.local.matrix_products import product, widened_product


@dataclass(slots=True)
class LoadedModel:
    """A model ready to run. Model-specific properties are determined by testing at load time.

    Attributes:
        network: the transformers model with its output head.
        tokenizer: its tokenizer.
        chat: how chat turns become text.
        processor: turns images and text into inputs; None for text-only models.
        device, dtype: where it runs, and its number format.
        layers: number of layers that hold keys and values.
        context_tokens: maximum tokens of prompt and answer together.
        attention: attention implementation for plain causal passes.
        masked_attention: the one for packs, see :mod:`.attention`.
        packs: whether packed rows after a prefix give correct results; if not, the model is run
            plainly.
        plain_head: whether the logits are one matrix times the last hidden state.
        blocks: whether answers of different lengths attend in blocks, see :class:`.cache.Slots`.
        onednn: whether oneDNN multiplies, see :mod:`.matrix_products`.
        window: sliding window in tokens, 0 for none.
        window_by_layer: whether only some layers have the window.
        cache_name: name of the cache argument.
        info: what a run records about the model.
        tokens_run: tokens run through the model so far.
        likeliest: chooses tokens, once that was needed; None if it does not suit the model.
        likeliest_sought: whether it was looked for.
    """

    network: Any
    tokenizer: Any
    chat: ChatTemplate
    device: torch.device
    dtype: torch.dtype
    layers: int
    context_tokens: int
    attention: str
    processor: Any = None
    masked_attention: str = "sdpa"
    packs: bool = False
    plain_head: bool = False
    blocks: bool = False
    onednn: bool = False
    window: int = 0
    window_by_layer: bool = False
    cache_name: str = "cache"
    info: dict[str, Any] = field(default_factory=dict)
    tokens_run: int = 0
    likeliest: Likeliest | None = None
    likeliest_sought: bool = False

    def run(
        self,
        tokens: Tensor,
        positions: Tensor,
        *,
        cache: Any,
        mask: Tensor | None = None,
        key_positions: Tensor | None = None,
        keep: Tensor | None = None,
        attention: str = "",
        likeliest: bool = False,
    ) -> Tensor:
        """One forward pass after a cache.

        Args:
            tokens: ids, ``[batch, n]``.
            positions: of each token in its own sequence, ``[batch, n]``.
            cache: from :mod:`evalbench.providers.local.cache`.
            mask: True where a query may attend to a key, ``[batch, 1, n, keys]``; None if each
                token sees everything before it.
            key_positions: position of every key in its sequence, ``[batch, keys]``; required with
                ``mask`` and relevant to models with sliding windows.
            keep: which of the ``n`` positions to compute logits for; None: the last one; empty:
                none.
            attention: attention implementation; empty: by ``mask``.
            likeliest: return tokens instead of logits.

        Returns:
            Logits, float32, ``[batch, len(keep), vocabulary]``; or the tokens with the largest
            ones, ``[batch, len(keep)]``.
        """
        self.use(attention or (self.attention if mask is None else self.masked_attention))
        self.tokens_run += tokens.numel()
        if keep is None:
            keep = torch.tensor([tokens.shape[1] - 1], device=self.device)
        arguments = {
            "input_ids": tokens,
            "position_ids": positions,
            "attention_mask": self._shape_mask(mask, positions, key_positions),
            self.cache_name: cache,
            "use_cache": True,
        }
        with torch.inference_mode():
            if self.plain_head or not len(keep):
                hidden = self.network.get_decoder()(**arguments).last_hidden_state[:, keep]
                return self._choose(hidden) if likeliest else self._head(hidden)
            logits: Tensor = self.network(**arguments, logits_to_keep=keep).logits.float()
            return logits.argmax(dim=-1) if likeliest else logits

    def run_plainly(self, tokens: Tensor, attend: Tensor, keep: Tensor) -> Tensor:
        """Run a padded batch without a cache, for models that cannot run packed.

        Args:
            tokens, attend: ids and 1 for real tokens, ``[batch, n]``, padded on the right.
            keep: which of the ``n`` positions to compute logits for.

        Returns:
            Logits, float32, ``[batch, len(keep), vocabulary]``.
        """
        self.use(self.attention)
        self.tokens_run += int(attend.sum())
        arguments = {"input_ids": tokens, "attention_mask": attend, "use_cache": False}
        with torch.inference_mode():
            logits: Tensor = self.network(**arguments, logits_to_keep=keep).logits
            return logits.float()

    def tensor(self, values: Any) -> Tensor:
        """Integers as a tensor on the model's device."""
        return torch.tensor(values, dtype=torch.long, device=self.device)

    def use(self, attention: str) -> None:
        """Switch to an attention implementation."""
        if self.network.config._attn_implementation != attention:
            self.network.set_attn_implementation(attention)

    def _head(self, hidden: Tensor) -> Tensor:
        """Apply the output head in float32, whatever the model's own number format is."""
        head = self.network.get_output_embeddings()
        # With several cards, the last layers are not where the input is.
        hidden = hidden.to(head.weight.device)
        if head.weight.dtype != torch.float32:
            wide = widened_product(hidden, head.weight, head.bias, onednn=self.onednn)
            return wide.to(self.device)
        multiply = product if self.onednn else torch.nn.functional.linear
        logits: Tensor = multiply(hidden, head.weight, head.bias)
        return logits.to(self.device)

    def _choose(self, hidden: Tensor) -> Tensor:
        """The tokens with the largest logits."""
        head = self.network.get_output_embeddings()
        if not self.likeliest_sought:
            self.likeliest_sought = True
            if self.onednn and head.bias is None:
                self.likeliest = Likeliest.of(head.weight)
        if self.likeliest is None:
            return self._head(hidden).argmax(dim=-1)
        return self.likeliest.tokens(hidden.flatten(0, 1)).view(hidden.shape[:2])

    def _shape_mask(
        self, mask: Tensor | None, positions: Tensor, key_positions: Tensor | None
    ) -> Any:
        """The mask as this model takes it: additive for eager attention, one per layer kind."""
        if mask is None:
            return None
        narrow = mask
        if self.window and key_positions is not None:
            near = positions[:, :, None] - key_positions[:, None, :] < self.window
            narrow = mask & near[:, None]
        if not self.window_by_layer:
            return self._additive(narrow)
        return {
            "full_attention": self._additive(mask),
            "sliding_attention": self._additive(narrow),
        }

    def _additive(self, mask: Tensor) -> Tensor:
        if self.masked_attention != "eager":
            return mask
        zeros = torch.zeros(mask.shape, dtype=self.dtype, device=self.device)
        return zeros.masked_fill(~mask, torch.finfo(self.dtype).min)
