"""Models in servers: started for a worker, asked, watched, and ended with it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from evalbench.engine.calls import Params, Prompt, user
from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.hardware.fit import Loading, Verdict, fit
from evalbench.providers.compatible.programs import LLAMA_CPP, SGLANG, VLLM
from evalbench.providers.local import Local, backends, server_worker
from evalbench.providers.local.chat import DEFAULT_TEMPLATE, ChatTemplate, template_of
from evalbench.providers.local.options import LocalOptions
from tests.contract.local.driver import Worker
from tests.e2e.commandline import wait_until
from tests.e2e.inference_servers import gone, install
from tests.unit.local.test_footprint import write_gguf

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}
Start = Callable[..., contextlib.AbstractContextManager[Worker]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of which only the configuration and the shapes are read."""
    made = tmp_path / "tiny"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(CONFIG))
    tensor = {"dtype": "F32", "shape": [100, 8], "data_offsets": [0, 0]}
    header = json.dumps({"embed": tensor}).encode()
    (made / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return made


@pytest.fixture
def start(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "vllm", "llama-server")))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted")

    def run(how: str = "", **settings: Any) -> Worker:
        return Worker(str(folder), {"STAND_IN": how}, backend="vllm", **settings)

    return run


def _asked(text: str = "A or B?") -> Prompt:
    return Prompt("generate", (user(text),), params=Params(max_tokens=4))


def test_a_server_answers_for_the_model_and_ends_with_its_worker(start: Start) -> None:
    with start(slots=3) as worker:
        info = worker.next("loaded")["info"]
        assert (info["backend"], info["slots"], info["dtype"]) == ("vllm", 3, "bfloat16")
        server = psutil.Process(info["server_pid"])
        words, env = server.cmdline(), server.environ()
        assert words[words.index("--host") + 1] == "127.0.0.1"
        assert words[words.index("--max-num-seqs") + 1] == "3"
        # The key is in the environment, where other users cannot read it.
        assert len(env["VLLM_API_KEY"]) > 20
        assert env["VLLM_API_KEY"] not in " ".join(words)
        replies = worker.replies([_asked(), _asked(), _asked("B or A?"), _asked("C?")])
        assert [reply.text for reply in replies] == ["A"] * 4
        assert replies[0].usage.input_tokens == 9
        worker.send({"type": "memory"})
        memory = worker.until(lambda frame: frame["type"] == "memory" and "used" in frame)
        assert memory["kv_cache"] == 0.25
        assert memory["running"] == 1
        assert memory["tokens_computed"] == 30
        worker.send({"type": "bye"})
        assert worker.process.wait(20) == 0
        assert gone(server.pid)


@pytest.mark.parametrize("own", ["", "{{ own }}"])
def test_a_model_without_a_chat_template_gets_the_one_that_it_has_in_transformers(
    own: str, start: Start, folder: Path
) -> None:
    """Servers refuse chat turns for such a model, or take a template of their own."""
    if own:
        (folder / "chat_template.jinja").write_text(own)
    with start() as worker:
        info = worker.next("loaded")["info"]
        words = psutil.Process(info["server_pid"]).cmdline()
        used = own or DEFAULT_TEMPLATE
        assert ("--chat-template" in words) is not bool(own)
        if not own:
            assert Path(words[words.index("--chat-template") + 1]).read_text() == used
        assert info["chat_template"] == ("own" if own else "default")
        assert info["chat_template_sha256"] == hashlib.sha256(used.encode()).hexdigest()


def test_a_models_chat_template_is_found_where_it_may_be_kept(tmp_path: Path) -> None:
    assert template_of(tmp_path) is None
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": "one"}))
    assert template_of(tmp_path) == "one"
    several = [{"name": "tools", "template": "t"}, {"name": "default", "template": "two"}]
    config.write_text(json.dumps({"chat_template": several}))
    assert template_of(tmp_path) == "two"
    config.write_text(json.dumps({"chat_template": None}))
    assert template_of(tmp_path) is None
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "three"}))
    assert template_of(tmp_path) == "three"
    (tmp_path / "chat_template.jinja").write_text("four")
    assert template_of(tmp_path) == "four"
    file = tmp_path / "m.gguf"
    write_gguf(file, {})
    assert template_of(file) is None
    write_gguf(file, {}, tokenizer__chat_template="five")
    assert template_of(file) == "five"


@pytest.mark.parametrize("how", ["bye", "closed", "killed"])
def test_no_server_outlives_the_engine_or_the_worker(
    how: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    with start() as worker:
        pid = worker.next("loaded")["info"]["server_pid"]
        [folder] = place.iterdir()
        # Where vLLM's processes put their sockets, which they leave behind when they are killed.
        assert psutil.Process(pid).environ()["VLLM_RPC_BASE_PATH"] == str(folder)
        (folder / "socket").touch()
        assert worker.process.stdin is not None
        if how == "bye":
            worker.send({"type": "bye"})
        elif how == "closed":
            worker.process.stdin.close()
        else:
            worker.process.kill()
        wait_until(lambda: gone(pid), "the server's end")
        wait_until(lambda: not [*place.iterdir()], "the end of its files")


def test_a_server_that_fails_is_told_by_its_last_words(start: Start) -> None:
    with start("dies") as worker:
        fatal = worker.next("fatal")
        assert fatal["what"] == "vLLM has ended with exit code 3"
        assert "ValueError: no such architecture" in fatal["why"]
        assert fatal["hint"] == "--backend transformers runs the model without vLLM"
    with start("dies later") as worker:
        worker.next("loaded")
        worker.replies([_asked()])
        # The engine starts such a worker again, as one of transformers.
        assert worker.process.wait(20) == 1
        wait_until(lambda: "CUDA error" in worker.log, "its log")


def _provider(**settings: Any) -> Local:
    return Local(parse_options(Local.options, settings, "local"))


@pytest.mark.parametrize(
    ("there", "settings", "told"),
    [
        ((), {"backend": "vllm"}, "vLLM is not installed"),
        ((), {"backend": "sglang"}, "SGLang is not installed"),
        (("vllm",), {"backend": "vllm", "deterministic": True}, "--deterministic cannot be used"),
        (("vllm",), {"backend": "vllm", "quantize": "4bit"}, "--quantize cannot be used"),
        (("vllm",), {"backend": "vllm", "device": "mps"}, "--device cannot be used"),
        (("llama-server",), {"backend": "llama.cpp"}, "llama.cpp reads GGUF files"),
        (("vllm",), {"backend": "vllm"}, ""),
        (("vllm",), {"backend": "auto", "device": "cpu"}, ""),
    ],
)
def test_what_a_server_cannot_do_is_refused_before_a_run(
    there: tuple[str, ...],
    settings: dict[str, Any],
    told: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", *there)))
    provider = _provider(**settings)
    if not told:
        provider.check_model(str(folder))
        return
    with pytest.raises(SpecError, match=told) as caught:
        provider.check_model(str(folder))
    assert caught.value.hint


def test_models_in_servers_are_sized_as_they_are_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "vllm", "llama-server")))
    room = DeviceMemory("cpu", "CPU", 8 << 30, 8 << 30)
    served = _provider(backend="vllm").footprint(str(folder))
    assert Loading.chosen({}, room, served).form == "bfloat16"
    assert Loading.chosen({"dtype": "float32"}, room, served).form == "float32"
    # vLLM's own processes are counted, and no format is offered that it does not take.
    found = fit(served, room, Loading.chosen({"memory_limit": "1GB"}, room, served))
    assert (found.verdict, found.need.process) == (Verdict.DOES_NOT, 2_000_000_000)
    assert list(found.least) == ["bfloat16"]
    card = DeviceMemory("cuda", "GPU", 8 << 30, 8 << 30)
    assert fit(served, card, Loading.chosen({}, card, served)).need.process == 800_000_000
    packed = _provider(backend="llama.cpp").footprint("smollm2-135m-instruct")
    found = fit(packed, room, Loading.chosen({}, room, packed))
    assert (found.verdict, found.need.weights) == (Verdict.FITS, 98_362_432)
    tight = DeviceMemory("cpu", "CPU", 400_000_000, 8 << 30)
    assert fit(packed, tight, Loading.chosen({}, tight, packed)).verdict is Verdict.DOES_NOT
    # A server needs none of the packages of transformers, and llama.cpp scores no given texts.
    assert not _provider(backend="vllm").modules_for(str(folder))
    assert _provider(backend="vllm").capabilities(str(folder)).choose
    assert not _provider(backend="llama.cpp").capabilities("smollm2-135m-instruct").choose
    assert _provider().capabilities("smollm2-135m-instruct").choose


def test_options_follow_the_settings_and_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = Footprint(8_000_000_000, 7_000_000_000, 65_536, 40_000, 128_000, 131_072)
    gib = 1 << 30
    cards = DeviceMemory("cuda", "4 × GPU", 40 * gib, 96 * gib, cards=4)
    given = {"chat_template": "{{ x }}", "prefix_cache": False, "max_batch_tokens": 4096}

    def words(kind: Any, memory: DeviceMemory, **settings: Any) -> str:
        options = LocalOptions(**settings)
        made, _ = backends.options(
            kind,
            options,
            size,
            memory,
            many=16,
            threads=2,
            chat=ChatTemplate.choose(options.chat_template, "{{ own }}", in_parts=False),
            scratch=tmp_path,
        )
        return " ".join(made)

    told = words(VLLM, cards, **given)
    assert "--dtype bfloat16 --max-num-seqs 16 --generation-config vllm" in told
    assert "--max-num-batched-tokens 4096 --no-enable-prefix-caching" in told
    assert f"--chat-template {tmp_path / 'template.jinja'}" in told
    assert (tmp_path / "template.jinja").read_text() == "{{ x }}"
    assert "--chat-template" not in words(VLLM, cards)
    # 16 GB of weights leave too little room on one card of 24 GiB; others use half of the memory.
    assert "--tensor-parallel-size 1 " in told
    small = DeviceMemory("cuda", "4 × GPU", 40 * gib, 48 * gib, cards=4)
    assert "--tensor-parallel-size 2 " in words(VLLM, small)
    assert "--gpu-memory-utilization 0.375" in told
    assert "--gpu-memory-utilization 0.208" in words(VLLM, cards, memory_limit="20GiB")
    told = words(SGLANG, cards, **given)
    assert "--mem-fraction-static 0.375" in told
    assert "--disable-radix-cache" in told
    cpu = DeviceMemory("cpu", "CPU", 32 * gib, 64 * gib)
    for able, attention in ((True, ""), (False, " --attention-backend torch_native")):
        monkeypatch.setattr(backends, "amx", lambda able=able: able)
        # What 16 GB of weights leave.
        assert words(SGLANG, cpu).endswith(f"--device cpu --max-total-tokens 113859{attention}")
    told = words(LLAMA_CPP, cpu, device="cpu", **given)
    assert told.startswith("-c 131072 -np 16 -kvu --metrics -b 4096 -t 2 -ngl 0 --no-cache-prompt")
    assert words(LLAMA_CPP, cpu, memory_limit="6GiB").startswith("-c 44236 ")


def test_vllm_on_a_cpu_takes_the_memory_and_threads_that_it_is_given(tmp_path: Path) -> None:
    size = Footprint(135_000_000, 106_000_000, 23_040, 4_000, 49_152, 8_192)
    gib = 1 << 30

    def given(free: int, **settings: Any) -> tuple[int, Mapping[str, str]]:
        memory = DeviceMemory("cpu", "CPU", free, 64 * gib)
        words, env = backends.options(
            VLLM,
            LocalOptions(**settings),
            size,
            memory,
            many=8,
            threads=3,
            chat=ChatTemplate("{{ own }}", "own"),
            scratch=tmp_path,
        )
        assert "--disable-uvicorn-access-log" in words
        return int(words[words.index("--kv-cache-memory-bytes") + 1]), env

    room, env = given(32 * gib)
    # Eight answers of usual length, with keys and values of 16 bits.
    assert room == 8 * 2048 * 23_040 * 2
    # Its own choice is the same processors for every server.
    assert env["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
    assert env["OMP_NUM_THREADS"] == "3"
    assert given(32 * gib, dtype="float32")[0] == 8 * 2048 * 23_040 * 4
    # What weights leave of the limit, and never less than one prompt of usual length.
    limited, _ = given(32 * gib, memory_limit="0.6GiB")
    assert limited == int((0.54 * gib - 270_000_000) // 46_080) * 46_080
    assert given(32 * gib, memory_limit="300MiB")[0] == 2048 * 23_040 * 2


def test_auto_takes_a_server_only_where_it_suits(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalbench.providers.local.catalogue import FolderModel

    plain = FolderModel(folder)
    gguf = FolderModel(folder, folder / "x.gguf")
    cards: list[dict[str, str]] = []
    monkeypatch.setattr(backends, "cards_to_use", lambda device: cards)
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "sglang")))
    auto = LocalOptions(backend="auto")
    assert backends.choose(auto, plain) is None
    assert backends.choose(auto, gguf) is None
    cards.append({"name": "GPU"})
    assert backends.choose(auto, plain) is SGLANG
    install(tmp_path / "bin", "vllm", "llama-server")
    assert backends.choose(auto, plain) is VLLM
    assert backends.choose(replace(auto, quantize="4bit"), plain) is None
    assert backends.choose(auto, gguf) is LLAMA_CPP
    assert backends.choose(LocalOptions(), gguf) is None


class _Process:
    """Memory of a process, as psutil reports it."""

    def __init__(self, rss: int, shared: int) -> None:
        self._memory = SimpleNamespace(rss=rss, shared=shared)

    def memory_info(self) -> SimpleNamespace:
        return self._memory


def test_what_processes_of_a_server_share_is_counted_once() -> None:
    family = [_Process(1000, 300), _Process(900, 200), _Process(5000, 300)]
    assert server_worker._resident(family) == 700 + 700 + 4700 + 300
    ended = SimpleNamespace(memory_info=lambda: (_ for _ in ()).throw(psutil.NoSuchProcess(1)))
    assert server_worker._resident([*family, ended]) == 6400


def test_gauges_are_read_from_what_servers_publish() -> None:
    text = (
        "# HELP vllm:kv_cache_usage_perc x\n"
        'vllm:kv_cache_usage_perc{engine="0",model_name="a b"} 0.5\n'
        'vllm:prompt_tokens_total{engine="0"} 10\nvllm:prompt_tokens_total{engine="1"} 5.0 17\n'
        "vllm:num_requests_running nonsense\nother 3\n\n"
    )
    assert backends.gauges(VLLM, text) == {"kv_cache": 0.5, "prompt_tokens": 15.0}
    assert backends.gauges(LLAMA_CPP, "llamacpp:requests_processing 2") == {"running": 2.0}
