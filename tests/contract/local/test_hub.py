"""The real hub client against a simulated hub: what is fetched, and what is said when it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.hub import Hub, Repository

NAME = "org/tiny"
WEIGHTS = bytes(range(256)) * 1024
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b'{"made": "up"}',
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"no pickles",
    "consolidated.safetensors": b"the same again",
    "onnx/config.json": b"{}",
    "README.md": b"# tiny",
}

_FETCH = """
import json, os, shutil, sys
from types import SimpleNamespace
from evalbench.engine.errors import ProviderError
from evalbench.providers.local import hub
from evalbench.providers.local.catalogue import HubModel
seen = []
if "FREE" in os.environ:
    shutil.disk_usage = lambda folder: SimpleNamespace(free=int(os.environ["FREE"]))
try:
    if sys.argv[4:]:
        print(json.dumps(hub.describe(HubModel(*sys.argv[1:4]))))
        sys.exit()
    folder = hub.fetch(HubModel(*sys.argv[1:4]), lambda *report: seen.append(report))
    print(json.dumps({"folder": str(folder), "progress": seen}))
except ProviderError as error:
    print(json.dumps({"error": type(error).__name__, "text": str(error)}))
"""


class Fetcher:
    """Downloads in a process of its own, because the client reads its environment once."""

    def __init__(self, home: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
        self.env = {**kept, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}

    def __call__(
        self,
        url: str,
        name: str = NAME,
        revision: str = "main",
        token: str = "",
        *,
        describe: bool = False,
        gguf: str = "",
        **more: str,
    ) -> Any:
        env = {**self.env, "HF_ENDPOINT": url, **({"HF_TOKEN": token} if token else {}), **more}
        asked = [name, revision, gguf, *(["x"] if describe else [])]
        command = [sys.executable, "-c", _FETCH, *asked]
        done = subprocess.run(command, env=env, capture_output=True, check=True, timeout=250)
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def fetch(tmp_path: Path) -> Fetcher:
    return Fetcher(tmp_path / "hf")


def test_fetches_what_a_model_needs_and_nothing_else(fetch: Fetcher) -> None:
    repository = Repository(FILES)
    with Hub({NAME: repository}) as hub:
        got = fetch(hub.url)
    folder = Path(got["folder"])
    assert folder.name == repository.commit
    assert sorted(p.name for p in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    whole = len(WEIGHTS) + len(FILES["config.json"]) + len(FILES["tokenizer.json"])
    assert [f"downloading {NAME}", whole, whole, "B"] in got["progress"]


@pytest.mark.slow
def test_a_tag_and_a_commit_name_the_same_snapshot(fetch: Fetcher) -> None:
    repository = Repository(FILES, tags=frozenset({"v1"}))
    with Hub({NAME: repository}) as hub:
        by_tag = fetch(hub.url, revision="v1")["folder"]
        hub.requests.clear()
        by_commit = fetch(hub.url, revision=repository.commit)["folder"]
        assert by_tag == by_commit
        assert not hub.requests


@pytest.mark.slow
def test_sharded_weights_are_complete_only_with_every_shard(fetch: Fetcher) -> None:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    files = {
        "config.json": b"{}",
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-1.safetensors": b"one",
    }
    with Hub({NAME: Repository(files)}) as hub:
        got = fetch(hub.url)
    assert got["error"] == "NoSuchModel"
    assert "model-2.safetensors" in got["text"]


@pytest.mark.slow
def test_a_short_interruption_goes_on_where_it_stopped(fetch: Fetcher) -> None:
    step = 10 * 1024 * 1024
    weights = WEIGHTS * (step // len(WEIGHTS) + 1)
    files = {**FILES, "model.safetensors": weights}
    with Hub({NAME: Repository(files)}, cuts={"model.safetensors": [step + 1000]}) as hub:
        folder = Path(fetch(hub.url)["folder"])
        assert hub.transfers["model.safetensors"] == ["", f"bytes={step}-"]
    assert (folder / "model.safetensors").read_bytes() == weights


@pytest.mark.slow
def test_a_cut_download_keeps_what_came_whole(fetch: Fetcher) -> None:
    with Hub({NAME: Repository(FILES)}, cuts={"model.safetensors": [0] * 20}) as hub:
        got = fetch(hub.url)
        assert got["error"] == "WorkerFailed"
        assert "was cut" in got["text"]
        assert "complete files are kept" in got["text"]
        offline = fetch(hub.url, HF_HUB_OFFLINE="1")
        assert offline["error"] == "WorkerFailed"
        hub.cuts.clear()
        hub.transfers.clear()
        folder = Path(fetch(hub.url)["folder"])
        assert set(hub.transfers) == {"model.safetensors"}
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("token", "said"), [("", "no token was found"), ("stranger", "this token has none")]
)
def test_a_gated_repository_is_explained(fetch: Fetcher, token: str, said: str) -> None:
    with Hub({NAME: Repository(FILES, readers=frozenset({"reader"}), gated=True)}) as hub:
        got = fetch(hub.url, token=token)
        assert got["error"] == "AccessDenied"
        assert f"{NAME} is gated" in got["text"]
        assert said in got["text"]
        assert f"{hub.url}/{NAME}" in got["text"]
        assert "HF_TOKEN" in got["text"]


@pytest.mark.slow
def test_a_reader_gets_gated_and_private_repositories(fetch: Fetcher) -> None:
    readers = frozenset({"reader"})
    repositories = {
        "org/gated": Repository(FILES, readers=readers, gated=True),
        "org/private": Repository(FILES, readers=readers, private=True),
    }
    with Hub(repositories) as hub:
        for name in repositories:
            assert "folder" in fetch(hub.url, name, token="reader")


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize("token", ["", "stranger"])
def test_private_and_missing_repositories_read_the_same(fetch: Fetcher, token: str) -> None:
    with Hub({NAME: Repository(FILES, private=True)}) as hub:
        private = fetch(hub.url, token=token)
        missing = fetch(hub.url, "org/typo", token=token)
    for got in (private, missing):
        assert got["error"] == "NoSuchModel"
        assert "check the spelling" in got["text"]


@pytest.mark.slow
def test_a_missing_revision_is_named(fetch: Fetcher) -> None:
    with Hub({NAME: Repository(FILES)}) as hub:
        got = fetch(hub.url, revision="v9")
    assert got["error"] == "NoSuchModel"
    assert "no revision 'v9'" in got["text"]


@pytest.mark.slow
def test_a_repository_without_safetensors_is_refused(fetch: Fetcher) -> None:
    files = {"config.json": b"{}", "pytorch_model.bin": b"pickle"}
    with Hub({NAME: Repository(files)}) as hub:
        got = fetch(hub.url)
    assert got["error"] == "NoSuchModel"
    assert "model.safetensors is not in the repository" in got["text"]


@pytest.mark.slow
def test_a_hub_out_of_order_is_said(fetch: Fetcher) -> None:
    with Hub({NAME: Repository(FILES)}, status=503) as hub:
        got = fetch(hub.url)
    assert got["error"] == "WorkerFailed"
    assert "HTTP 503" in got["text"]


@pytest.mark.slow
def test_without_a_network_what_is_there_is_used(fetch: Fetcher) -> None:
    repository = Repository(FILES)
    with Hub({NAME: repository}) as hub:
        whole = fetch(hub.url)["folder"]
        for revision in ("main", repository.commit):
            assert fetch(hub.url, revision=revision, HF_HUB_OFFLINE="1")["folder"] == whole


def test_a_dead_hub_is_asked_once(fetch: Fetcher) -> None:
    hub = Hub({NAME: Repository(FILES)})
    with hub:
        whole = fetch(hub.url)["folder"]
    begun = time.monotonic()
    assert fetch(hub.url)["folder"] == whole
    for describe in (False, True):
        unknown = fetch(hub.url, "org/never-seen", describe=describe)
        assert unknown["error"] == "WorkerFailed"
        assert "the hub cannot be reached" in unknown["text"]
        assert "refused" in unknown["text"]
    # The client's own five retries would take 23 s each of three times.
    assert time.monotonic() - begun < 60


def test_that_a_download_is_tried_again_is_reported(fetch: Fetcher) -> None:
    with Hub({NAME: Repository(FILES)}, cuts={"model.safetensors": [1000]}) as hub:
        got = fetch(hub.url)
    assert [f"trying again to download {NAME}: no answer", 0, None, ""] in got["progress"]


@pytest.mark.slow
def test_a_model_is_described_without_its_weights(fetch: Fetcher) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "table": {"dtype": "BF16", "shape": [100, 8], "data_offsets": [0, 1600]},
        "up": {"dtype": "BF16", "shape": [32, 8], "data_offsets": [1600, 2112]},
    }
    head = json.dumps(header).encode()
    whole = len(head).to_bytes(8, "little") + head + bytes(200_000)
    files = {"config.json": b'{"hidden_size": 8}', "model.safetensors": whole}
    with Hub({NAME: Repository(files)}) as hub:
        config, shapes, size = fetch(hub.url, describe=True)
        assert hub.transfers["model.safetensors"] == ["bytes=0-100000"]
        fetch(hub.url)
        hub.requests.clear()
        again = fetch(hub.url, describe=True)
        assert not hub.requests
    assert config == {"hidden_size": 8}
    assert shapes == [[100, 8], [32, 8]]
    assert size == 2112
    assert again == [config, shapes, 0]


@pytest.mark.share(2)
@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_describing_says_what_is_missing(fetch: Fetcher, missing: str) -> None:
    files = {"config.json": b"{}", "model.safetensors": WEIGHTS}
    del files[missing]
    with Hub({NAME: Repository(files)}) as hub:
        got = fetch(hub.url, describe=True)
    assert got["error"] == "NoSuchModel"
    assert missing in got["text"]


@pytest.mark.slow
def test_describing_a_gated_model_says_how_to_get_access(fetch: Fetcher) -> None:
    with Hub({NAME: Repository(FILES, gated=True)}) as hub:
        got = fetch(hub.url, describe=True)
    assert got["error"] == "AccessDenied"
    assert "ask for access" in got["text"]


GGUFS = {
    "README.md": b"# tiny",
    "config.json": b"{}",
    "tiny.Q4_K_M.gguf": b"GGUF four bits",
    "tiny.Q8_0.gguf": b"GGUF eight bits",
    "BF16/tiny.BF16-00001-of-00002.gguf": b"GGUF the first half",
    "BF16/tiny.BF16-00002-of-00002.gguf": b"GGUF the second half",
}


@pytest.mark.slow
def test_of_several_gguf_files_the_named_one_is_fetched(fetch: Fetcher) -> None:
    repository = Repository(GGUFS)
    with Hub({NAME: repository}) as hub:
        got = fetch(hub.url, gguf="q4_k_m")
        assert set(hub.transfers) == {"tiny.Q4_K_M.gguf"}
        file = Path(got["folder"])
        assert (file.name, file.read_bytes()) == ("tiny.Q4_K_M.gguf", b"GGUF four bits")
        assert file.parent.name == repository.commit
    pinned = fetch(hub.url, gguf="Q4_K_M", revision=repository.commit)
    assert pinned["folder"] == str(file)
    offline = fetch(hub.url, gguf="Q4_K_M", HF_HUB_OFFLINE="1")
    assert offline["folder"] == str(file)


@pytest.mark.slow
@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("gguf", "said"),
    [
        ("", ["has several GGUF files", "tiny.Q8_0.gguf", f"local/{NAME}:"]),
        ("Q5", ["no GGUF file 'Q5'", "tiny.Q4_K_M.gguf", f"local/{NAME}:"]),
        ("BF16", ["BF16/tiny.BF16-00001-of-00002.gguf is a part of a file"]),
    ],
)
def test_which_gguf_file_has_to_be_clear(fetch: Fetcher, gguf: str, said: list[str]) -> None:
    with Hub({NAME: Repository(GGUFS)}) as hub:
        got = fetch(hub.url, gguf=gguf)
        assert not [name for name in hub.transfers if name.endswith(".gguf")]
    assert got["error"] == "NoSuchModel"
    assert [words for words in said if words not in got["text"]] == []


@pytest.mark.slow
def test_a_single_gguf_file_needs_no_naming(fetch: Fetcher) -> None:
    with Hub({NAME: Repository({"tiny.gguf": b"GGUF"})}) as hub:
        assert Path(fetch(hub.url)["folder"]).name == "tiny.gguf"
        told = fetch(hub.url, "org/other", describe=True, gguf="Q4")
    assert told["error"] == "NoSuchModel"


@pytest.mark.slow
def test_the_size_of_a_gguf_file_is_not_known_before_it_is_here(fetch: Fetcher) -> None:
    with Hub({NAME: Repository(GGUFS)}) as hub:
        for gguf in ("", "Q8_0"):
            got = fetch(hub.url, describe=True, gguf=gguf)
            assert "will be known when its GGUF file is here" in got["text"]


@pytest.mark.slow
def test_a_disk_without_room_is_told_with_figures_before_the_download(fetch: Fetcher) -> None:
    weights = bytes(30_000_000)
    files = {**FILES, "model.safetensors": weights}
    with Hub({NAME: Repository(files)}) as hub:
        got = fetch(hub.url, FREE="10000000")
        assert not hub.transfers
        assert got["error"] == "WorkerFailed"
        assert f"no room for {NAME}" in got["text"]
        assert "take 0.03 GB, and 0.01 GB are free" in got["text"]
        assert "free 0.02 GB" in got["text"]
        fetch(hub.url, FREE="30001000")
        # What is here already takes no room.
        assert "folder" in fetch(hub.url, FREE="0")
