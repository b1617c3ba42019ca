"""What is read from a model's configuration before anything is loaded; no torch is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from evalbench.engine.calls import Message, TextPart, system, user
from evalbench.engine.errors import SpecError
from evalbench.providers.local.catalogue import FolderModel, HubModel, resolve
from evalbench.providers.local.chat import DEFAULT_TEMPLATE, ChatTemplate, check_template
from evalbench.providers.local.vision_config import configuration, image_tokens, may_see

EYE = {"image_size": 336, "patch_size": 14}
REPO = HubModel("some/model", "main")


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({"model_type": "llava", "vision_config": EYE}, 576),
        (
            {
                "model_type": "llava",
                "vision_config": EYE,
                "vision_feature_select_strategy": "full",
                "image_seq_length": 7,
            },
            577,
        ),
        ({"model_type": "gemma3", "vision_config": EYE, "mm_tokens_per_image": 256}, 256),
        ({"model_type": "qwen2_5_vl", "vision_config": {"patch_size": 14}}, 0),
        ({"model_type": "llava", "vision_config": {}}, 0),
        ({"model_type": "llama"}, 0),
    ],
)
def test_tokens_of_an_image(config: dict[str, Any], tokens: int) -> None:
    assert image_tokens(config) == tokens


@pytest.mark.parametrize(
    ("text", "sees"),
    [('{"vision_config": {}}', True), ('{"vision_config": 1}', False), ("{}", False), ("{", True)],
)
def test_a_folder_says_whether_its_model_sees(tmp_path: Path, text: str, sees: bool) -> None:
    (tmp_path / "config.json").write_text(text)
    assert may_see(FolderModel(tmp_path)) is sees


def test_of_a_hub_model_only_what_is_here_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[object] = [None, object(), str(tmp_path / "config.json")]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))

    def look(repo: str, file: str, *, revision: str) -> object:
        assert (repo, file, revision) == ("some/model", "config.json", "main")
        return held[0]

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", look)
    assert configuration(REPO) is None
    assert may_see(REPO)
    del held[0]
    assert may_see(REPO)
    del held[0]
    assert not may_see(REPO)
    assert not may_see(resolve("smollm2-135m-instruct"))


def test_the_given_template_goes_before_the_models_own() -> None:
    chosen = [
        ChatTemplate.choose(given, own, in_parts=True)
        for given, own in (("mine", "own"), (None, "own"), (None, None))
    ]
    assert [one.origin for one in chosen] == ["given", "own", "default"]
    assert [one.text for one in chosen] == ["mine", "own", DEFAULT_TEMPLATE]
    assert [one.in_parts for one in chosen] == [True, True, False]
    digests = {one.info["chat_template_sha256"] for one in chosen}
    assert len(digests) == 3


class Refusing:
    """A tokenizer whose template knows no system role."""

    def apply_chat_template(self, turns: list[dict[str, Any]], **_: Any) -> str:
        if turns[0]["role"] == "system":
            raise ValueError("System role not supported")
        return "|".join(f"{turn['role']}:{turn['content']}" for turn in turns)


def test_system_text_goes_into_the_first_user_turn_where_a_template_refuses_it() -> None:
    template = ChatTemplate("own", "own").for_model(Refusing())
    turns = (system("Be brief."), user("2 + 2?"), Message("assistant", (TextPart("4"),)))
    assert template.render(Refusing(), turns) == "user:Be brief.\n\n2 + 2?|assistant:4"
    assert template.info["system_text"] == "in the first user turn"
    # What fails otherwise too is left as it is.
    assert not ChatTemplate("own", "own").for_model(object()).merges


def test_a_template_that_is_no_jinja_is_refused_with_its_line() -> None:
    check_template(DEFAULT_TEMPLATE)
    check_template("{% for m in messages %}{%- generation -%}{% endgeneration %}{% endfor %}")
    with pytest.raises(SpecError, match="no Jinja template") as caught:
        check_template("{{ bos_token }}\n{% for m in messages %}")
    assert "line 2" in caught.value.why
