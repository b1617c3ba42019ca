"""``evalbench serve``: other people's servers, started, waited for, asked and ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalbench.engine import inference_servers
from evalbench.engine.errors import WorkerFailed
from evalbench.engine.inference_servers import InferenceServer
from evalbench.providers.compatible.programs import LLAMA_CPP, VLLM
from evalbench.tui.cli.main import main
from evalbench.tui.cli.port import free_port
from tests.e2e.commandline import CommandLine, wait_until
from tests.e2e.inference_servers import gone, install
from tests.e2e.schema import check_line

Serve = Callable[..., "Served"]


class Served:
    """A started ``evalbench serve --json``, with what it said when it was ready."""

    def __init__(self, command: subprocess.Popen[str]) -> None:
        self.command = command
        assert command.stdout is not None
        # A server that never gets ready ends the test, not the session.
        limit = threading.Timer(60, command.kill)
        limit.start()
        line = command.stdout.readline()
        limit.cancel()
        assert line, command.stderr and command.stderr.read()
        self.told: dict[str, Any] = json.loads(line)
        check_line(self.told)

    @property
    def server(self) -> psutil.Process:
        return psutil.Process(self.told["pid"])

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal; exit code and standard error."""
        self.command.send_signal(number)
        _, err = self.command.communicate(timeout=200)
        return self.command.returncode, err


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    return install(tmp_path / "bin", "vllm", "llama-server")


@pytest.fixture
def serve(cli: CommandLine, bin_folder: Path) -> Serve:
    cli.env["PATH"] = str(bin_folder)

    def start(*words: str, **env: str) -> Served:
        return Served(cli.start("serve", "--json", "--port", "0", *words, **env))

    return start


def test_a_model_is_served_asked_and_ended(serve: Serve, cli: CommandLine, tmp_path: Path) -> None:
    weights = tmp_path / "tiny model.gguf"
    weights.touch()
    served = serve(str(weights))
    told = served.told
    assert (told["engine"], told["model"]) == ("llama.cpp", "llamacpp/tiny model")
    program, run = told["run"][0], told["run"][1:]
    assert program == "evalbench"
    assert run == ["run", "quickstart", "--model", told["model"], "--base-url", told["base_url"]]
    words = served.server.cmdline()
    assert words[2:4] == ["-m", str(weights)]
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert cli(*run, "--limit", "3", "--json").lines[-1]["state"] == "complete"
    assert served.end(signal.SIGINT)[0] == 0
    assert gone(told["pid"])


@pytest.mark.slow
def test_a_model_of_the_hub_goes_to_vllm_with_options_of_its_own(serve: Serve) -> None:
    keys = {"ANTHROPIC_API_KEY": "sk-ant-planted", "HF_TOKEN": "hf_ok", "VLLM_API_KEY": "ours"}
    served = serve("org/name", "--", "--served-model-name", "other", "--seed", "1", **keys)
    assert (served.told["engine"], served.told["model"]) == ("vllm", "vllm/other")
    words = served.server.cmdline()
    assert words[2:4] == ["serve", "org/name"]
    assert words[-2:] == ["--seed", "1"]
    env = served.server.environ()
    assert "ANTHROPIC_API_KEY" not in env
    assert (env["HF_TOKEN"], env["VLLM_API_KEY"]) == ("hf_ok", "ours")
    assert served.end(signal.SIGTERM)[0] == 0
    assert gone(served.told["pid"])


def test_a_key_for_llama_cpp_is_the_one_that_runs_send(serve: Serve, tmp_path: Path) -> None:
    served = serve("org/x-GGUF", LLAMA_API_KEY="unknown to runs", LLAMACPP_API_KEY="ours")
    assert served.server.environ()["LLAMA_API_KEY"] == "ours"
    assert served.told["model"] == "llamacpp/org/x-GGUF"
    assert served.server.cmdline()[2:4] == ["-hf", "org/x-GGUF"]
    served.end(signal.SIGTERM)


def test_it_ends_with_the_command_even_if_that_is_killed(serve: Serve) -> None:
    served = serve("org/name")
    served.end(signal.SIGKILL)
    wait_until(lambda: gone(served.told["pid"]), "the server's end")


_OWNER = """
import os, sys, time
from evalbench.engine import inference_servers
from evalbench.providers.compatible.programs import VLLM
inference_servers._ORPHAN_S = 0.2
command = VLLM.command("org/name", "name", int(sys.argv[1]))
server = inference_servers.InferenceServer(VLLM, command, int(sys.argv[1]), print, env=os.environ)
while not server.healthy():
    time.sleep(0.01)
print("pid", server.pid, flush=True)
time.sleep(600)
"""


def test_a_server_that_will_not_end_is_ended_when_its_owner_is_killed(bin_folder: Path) -> None:
    env = {**os.environ, "PATH": str(bin_folder), "STAND_IN": "stubborn"}
    port = str(free_port(0, ""))
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, port], env=env, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        pid = int(next(line for line in owner.stdout if line.startswith("pid ")).split()[1])
        owner.kill()
        wait_until(lambda: gone(pid), "the server's end")


def test_a_server_that_will_not_end_is_ended(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(bin_folder))
    monkeypatch.setenv("STAND_IN", "stubborn")
    monkeypatch.setattr(inference_servers, "_SECONDS_TO_END", 0.2)
    port = free_port(0, "")
    command = VLLM.command("org/name", "name", port)
    server = InferenceServer(VLLM, command, port, lambda line: None, env=os.environ)
    wait_until(server.healthy, "its health")
    server.end()
    assert gone(server.pid)
    with pytest.raises(WorkerFailed, match="vLLM has ended by signal 9"):
        server.check()


def test_a_server_that_dies_at_start_is_quoted(cli: CommandLine, bin_folder: Path) -> None:
    done = cli("serve", "org/name", "--json", "--port", "0", PATH=str(bin_folder), STAND_IN="dies")
    assert done.code == 5
    assert "vLLM has ended with exit code 3" in done.err
    cause, consequence = "ValueError: no such architecture", "RuntimeError: Engine core init"
    assert f"its errors:\n    {cause}\n    {consequence}" in done.err
    assert "it said last:\n    File server.py, line 29\n    File server.py, line 30\n" in done.err
    assert "OSError" not in done.err
    assert "\x1b" not in done.err
    (line,) = done.lines
    check_line(line)
    assert line["exit_code"] == 5


@pytest.mark.parametrize(
    ("prefix", "cause"),
    [
        ("0.00.138.648 E ", "llama_model_load: error loading model: tensor 'x' is not in the file"),
        (
            "(Server pid=1)   ",
            "Value error, Model architectures ['Odd'] are not supported" + "y" * 400,
        ),
    ],
)
def test_the_cause_of_a_servers_end_is_found_above_its_last_lines(prefix: str, cause: str) -> None:
    script = f"echo \"{prefix}{cause}\"; seq 20; echo 'RuntimeError: no server'; exit 1"
    command = ["sh", "-c", script]
    server = InferenceServer(LLAMA_CPP, command, 1, lambda line: None, env=os.environ)
    wait_until(lambda: server.code is not None, "its end")
    with pytest.raises(WorkerFailed) as caught:
        server.check()
    server.end()
    quoted = cause if len(cause) <= 300 else f"{cause[:299]}…"
    said = f"its errors:\n    {quoted}\n    RuntimeError: no server\n  it said last:\n    10\n"
    assert caught.value.why.startswith(said)


def test_a_server_that_dies_later_is_told(serve: Serve) -> None:
    served = serve("org/name", STAND_IN="dies later")
    body = json.dumps({"model": "org/name", "messages": []}).encode()
    with urllib.request.urlopen(served.told["base_url"] + "/chat/completions", body) as answer:
        assert answer.status == 200
    _, err = served.command.communicate(timeout=200)
    assert served.command.returncode == 5
    assert "vLLM has ended with exit code 1" in err
    assert "CUDA error" in err


@pytest.mark.slow
@pytest.mark.cold  # it counts the command's children
def test_waiting_can_be_ended(cli: CommandLine, bin_folder: Path) -> None:
    command = cli.start(
        "serve", "x", "--verbose", "--port", "0", PATH=str(bin_folder), STAND_IN="loads"
    )
    assert command.stderr is not None
    first = command.stderr.readline()
    assert first.startswith("starting [")  # cleaned, and shown at once
    children = psutil.Process(command.pid).children()
    (server,) = (one for one in children if "vllm" in " ".join(one.cmdline()))
    command.send_signal(signal.SIGINT)
    out, _ = command.communicate(timeout=200)
    assert (command.returncode, out) == (4, "")
    assert gone(server.pid)


def test_a_taken_port_is_told_and_the_usual_one_avoided(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(bin_folder))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port(port, "") != port
        assert main(["serve", "org/name", "--port", str(port)]) == 1
        assert f"port {port} on 127.0.0.1 cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("there", "words", "told"),
    [
        ((), ["org/name"], ["vLLM is not installed", "pip install vllm", "no vllm on PATH"]),
        ((), ["a.gguf:Q4"], ["llama.cpp is not installed", "brew install llama.cpp"]),
        (("llama-server",), ["org/name"], ["vLLM is not installed", "--engine llama.cpp"]),
        (("vllm",), ["org/x-GGUF"], ["llama.cpp is not installed", "--engine vllm"]),
        (("vllm",), ["x", "--engine", "llama.cpp"], ["there is no llama-server on PATH"]),
        (("vllm",), ["./nowhere"], ["there is no ./nowhere"]),
        (("vllm",), ["x", "--", "--host", "::"], ["--host cannot be given after --"]),
        (("vllm",), ["x", "--", "--port=1"], ["--port=1 cannot be given after --"]),
        (("vllm",), ["x", "y"], ["'y' is one word too many"]),
        (("vllm",), ["x", "--seed", "1"], ["no flag --seed"]),
        (("vllm",), ["x", "--port", "99999"], ["--port cannot be 99999"]),
    ],
)
def test_what_cannot_be_served_is_told(
    there: tuple[str, ...],
    words: list[str],
    told: list[str],
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(install(tmp_path / "some", *there)))
    assert main(["serve", *words]) == 1
    err = capsys.readouterr().err
    for part in told:
        assert part in err


def test_a_program_that_cannot_be_started(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = install(tmp_path / "some", "vllm")
    (folder / "vllm").write_text("#!/nowhere/python\n")
    monkeypatch.setenv("PATH", str(folder))
    assert main(["serve", "x"]) == 1
    assert "vLLM cannot be started" in capsys.readouterr().err
