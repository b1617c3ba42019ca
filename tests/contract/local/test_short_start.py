"""Importing transformers with less than it would import by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

STARTED = """
import sys
from importlib.util import find_spec
from evalbench.providers.local.short_start import short_imports

read = []
sys.addaudithook(lambda event, about: event == "open" and read.append(str(about[0])))
with short_imports():
    from transformers import AutoModelForCausalLM, LlamaForCausalLM, modeling_utils
    from transformers.utils import import_utils
listed = [name for name in read if name.endswith("/gpt2/modeling_gpt2.py")]
assert len(listed) == 1, listed
hidden = {"boto3", "botocore", "scipy", "sklearn"}
assert not hidden & sys.modules.keys(), hidden & sys.modules.keys()
# A model that needs it finds it.
assert import_utils.is_scipy_available() is (find_spec("scipy") is not None)
"""


def test_models_are_listed_once_and_what_only_training_needs_is_left_out() -> None:
    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_models_that_are_known_are_those_that_transformers_lists() -> None:
    import transformers
    from transformers.utils.import_utils import define_import_structure

    from evalbench.providers.local.short_start import without_prefix

    models = Path(transformers.__file__).parent / "models"
    known = without_prefix(define_import_structure(models, prefix="models"), "models.")
    assert known == define_import_structure(models / "__init__.py")
    assert "llama.modeling_llama" in known[frozenset({"torch"})]
