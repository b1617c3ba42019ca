"""The simulated Bedrock, through botocore itself: what it takes, and that its replies can be read.

botocore reads replies by its own descriptions of the services.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import orjson
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.contract.simulator.published import unshaped
from tests.simulator.bedrock_checks import service_model
from tests.simulator.handle import Handle, InThread
from tests.unit.providers.calls import FEW_SHOT, PNG

pytestmark = pytest.mark.usefixtures("still")

HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
OPUS = "us.anthropic.claude-opus-4-8"
NOVA = "us.amazon.nova-lite-v1:0"
HELLO = [{"role": "user", "content": [{"text": "Which letter comes first?"}]}]


@pytest.fixture(scope="module")
def clients(running_simulator: InThread) -> Iterator[dict[str, Any]]:
    session = boto3.Session("AKIAPLANTED1234567", "x" * 40, region_name="us-east-1")
    config = Config(
        retries={"total_max_attempts": 1}, signature_version="v4", parameter_validation=False
    )
    where = running_simulator.base_url("bedrock")
    made = {
        name: session.client(name, endpoint_url=where, config=config)
        for name in ("bedrock-runtime", "bedrock", "sts")
    }
    made["s3"] = _s3(running_simulator)
    yield made
    for client in made.values():
        client.close()


@pytest.fixture
def runtime(sim: Handle, clients: dict[str, Any]) -> Any:
    return clients["bedrock-runtime"]


def refused(call: Any, **arguments: Any) -> tuple[int, str, str]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    answer = caught.value.response
    told = answer["Error"]
    return answer["ResponseMetadata"]["HTTPStatusCode"], told["Code"], told["Message"]


def converse(runtime: Any, model: str = HAIKU, **more: Any) -> Any:
    return runtime.converse(modelId=model, **{"messages": HELLO, **more})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"system": [{"text": "Be brief."}], "inferenceConfig": {"maxTokens": 9}},
        {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
        {"serviceTier": {"type": "flex"}, "performanceConfig": {"latency": "standard"}},
        {"messages": [{"role": "user", "content": [
            {"text": FEW_SHOT}, {"cachePoint": {"type": "default", "ttl": "1h"}}, {"text": "?"}]}]},
        {"messages": [{"role": "user", "content": [
            {"image": {"format": "png", "source": {"bytes": PNG}}}, {"text": "What?"}]}]},
    ],
)  # fmt: skip
def test_every_kind_of_reply(runtime: Any, sim: Handle, more: dict[str, Any]) -> None:
    reply = converse(runtime, **more)
    assert reply["usage"]["totalTokens"] == sum(
        reply["usage"][name]
        for name in (
            *("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
            "outputTokens",
        )
    )


def test_lists(sim: Handle, clients: dict[str, Any]) -> None:
    control = clients["bedrock"]
    listed = control.list_foundation_models()["modelSummaries"]
    assert {model["modelId"] for model in listed} > {"amazon.nova-pro-v1:0"}
    pages = control.get_paginator("list_inference_profiles").paginate(maxResults=4)
    profiles = [
        p["inferenceProfileId"] for page in pages for p in page["inferenceProfileSummaries"]
    ]
    assert len(profiles) == len(set(profiles)) > 8
    assert HAIKU in profiles
    found = control.get_foundation_model_availability(modelId="amazon.nova-pro-v1:0")
    assert found["authorizationStatus"] == "AUTHORIZED"
    assert clients["sts"].get_caller_identity()["Account"] == "123456789012"


@pytest.mark.parametrize(
    ("model", "more", "words"),
    [
        (HAIKU, {"inferenceConfig": {"maxTokens": 0}}, "validation error"),
        (HAIKU, {"inferenceConfig": {"temperature": 1.5}}, "less than or equal to 1"),
        (HAIKU, {"performanceConfig": {"latency": "fast"}}, "enum value set"),
        (HAIKU, {"performanceConfig": {"latency": "optimized"}}, "not supported for this model"),
        (HAIKU, {"inferenceConfig": {"temperature": 0, "topP": 0.5}}, "cannot both be specified"),
        (HAIKU, {"inferenceConfig": {"maxTokens": 10**6}}, "exceeds the model limit"),
        (HAIKU, {"outputConfig": {"effort": "low"}}, "does not support the effort"),
        (OPUS, {"inferenceConfig": {"temperature": 0}}, "deprecated for this model"),
        (OPUS, {"outputConfig": {"effort": "some"}}, "Supported levels"),
        (OPUS, {"additionalModelRequestFields": {"thinking": {"type": "enabled",
         "budget_tokens": 2000}}}, "not supported for this model"),
        (HAIKU, {"additionalModelRequestFields": {"thinking": {"type": "enabled",
         "budget_tokens": 20}}}, "greater than or equal to 1024"),
        (HAIKU, {"additionalModelRequestFields": {"thinking": {"type": "enabled",
         "budget_tokens": 2000}}, "inferenceConfig": {"maxTokens": 1000}}, "must be greater"),
        (HAIKU, {"additionalModelRequestFields": {"thinking": {"type": "enabled",
         "budget_tokens": 2000}}, "inferenceConfig": {"maxTokens": 3000, "temperature": 0.5}},
         "only be set to 1"),
        (HAIKU, {"messages": []}, "at least one message"),
        (HAIKU, {"messages": [{"role": "assistant", "content": [{"text": "x"}]}]}, "start with"),
        (HAIKU, {"messages": [*HELLO, *HELLO]}, "must alternate"),
        (HAIKU, {"messages": [{"role": "user", "content": [{"text": "  "}]}]}, "is blank"),
        (HAIKU, {"system": [{"text": "\n"}]}, "is blank"),
        (HAIKU, {"messages": [{"role": "user", "content": []}]}, "is empty"),
        (HAIKU, {"messages": [{"role": "user", "content": [{"image": {"format": "jpeg",
         "source": {"bytes": PNG}}}]}]}, "is no jpeg"),
        (HAIKU, {"messages": [{"role": "user", "content": [{"video": {"format": "mp4",
         "source": {"bytes": b"x"}}}]}]}, "doesn't support the video"),
        (OPUS, {"messages": [*HELLO, {"role": "assistant", "content": [{"text": "A"}]}]},
         "prefill"),
        ("us.meta.llama3-3-70b-instruct-v1:0", {"messages": [{"role": "user", "content": [
         {"text": "x"}, {"cachePoint": {"type": "default"}}]}]}, "prompt caching"),
        ("openai.gpt-oss-120b-1:0", {"messages": [{"role": "user", "content": [
         {"image": {"format": "png", "source": {"bytes": PNG}}}]}]}, "doesn't support the image"),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", {}, "inference profile"),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", {}, "identifier is invalid"),
        ("nobody.nothing", {}, "identifier is invalid"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(
    runtime: Any, model: str, more: dict[str, Any], words: str
) -> None:
    status, name, message = refused(runtime.converse, modelId=model, **{"messages": HELLO, **more})
    assert (status, name) == (400, "ValidationException")
    assert words in message


def test_counting_is_what_is_charged(runtime: Any) -> None:
    asked: dict[str, Any] = {"messages": HELLO, "system": [{"text": "Be brief."}]}
    counted = runtime.count_tokens(modelId=HAIKU, input={"converse": asked})["inputTokens"]
    assert counted == converse(runtime, **asked)["usage"]["inputTokens"]
    status, _, message = refused(runtime.count_tokens, modelId=NOVA, input={"converse": asked})
    assert status == 400
    assert "counting tokens" in message


@pytest.mark.parametrize(
    ("key", "token", "service", "code"),
    [
        ("AKIAWRONG1234567890", None, "bedrock-runtime", "UnrecognizedClientException"),
        ("AKIAWRONG1234567890", None, "sts", "InvalidClientTokenId"),
        ("ASIAPLANTED1234567", "expired-token", "bedrock-runtime", "ExpiredTokenException"),
        ("ASIAPLANTED1234567", "expired-token", "sts", "ExpiredToken"),
        ("AKIASPENT1234567890", None, "bedrock-runtime", "ThrottlingException"),
    ],
)
def test_keys_that_do_not_work(
    sim: Handle, key: str, token: str | None, service: str, code: str
) -> None:
    client = boto3.Session(key, "x" * 40, token, region_name="us-east-1").client(
        service, endpoint_url=sim.base_url("bedrock"),
        config=Config(retries={"total_max_attempts": 1}, signature_version="v4"),
    )  # fmt: skip
    call = client.get_caller_identity if service == "sts" else client.converse
    asked = {} if service == "sts" else {"modelId": HAIKU, "messages": HELLO}
    assert refused(call, **asked)[1] == code
    client.close()


def by_hand(
    sim: Handle, body: Any, service: str = "bedrock", **headers: str
) -> tuple[int, str, str]:
    """What comes back to a request that botocore would not write."""
    url = f"{sim.base_url('bedrock')}/model/{HAIKU.replace(':', '%3A')}/converse"
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    request = AWSRequest("POST", url, {"Content-Type": "application/json"}, data)
    SigV4Auth(Credentials("AKIAPLANTED1234567", "x" * 40), service, "us-east-1").add_auth(request)
    sent = urllib.request.Request(url, data, {**request.headers, **headers})
    try:
        with urllib.request.urlopen(sent, timeout=10) as reply:
            return reply.status, "", ""
    except urllib.error.HTTPError as problem:
        told = orjson.loads(problem.read())
        return problem.code, problem.headers["x-amzn-errortype"] or "", told["message"]


def test_what_no_client_should_send(sim: Handle) -> None:
    good = {"messages": HELLO}
    assert by_hand(sim, good)[0] == 200
    for stamp, words in (
        ("20200101T000000Z", "Signature expired"),
        ("20990101T000000Z", "not yet"),
    ):
        status, name, message = by_hand(sim, good, **{"X-Amz-Date": stamp})
        assert (status, name) == (403, "InvalidSignatureException")
        assert words in message
    assert "[topK]" in by_hand(sim, {**good, "topK": 3})[2]
    assert "[seed]" in by_hand(sim, {**good, "inferenceConfig": {"seed": 1}})[2]
    assert by_hand(sim, b"{")[1] == "SerializationException"
    assert by_hand(sim, good, "sts")[1] == "InvalidSignatureException"
    assert by_hand(sim, good, Authorization="")[1] == "MissingAuthenticationTokenException"
    assert by_hand(sim, good, Authorization="AWS4-HMAC-SHA256 Credential=x")[1] == (
        "IncompleteSignatureException"
    )
    assert by_hand(sim, good, Authorization="Bearer wrong-key")[1] == "AccessDeniedException"
    assert by_hand(sim, good, Authorization="Bearer good-key")[0] == 200


def test_objects_in_buckets(sim: Handle, clients: dict[str, Any], tmp_path: Path) -> None:
    store = clients["s3"]
    large = tmp_path / "large.jsonl"
    large.write_bytes(b"0123456789" * 20_000)
    store.put_object(Bucket="evals", Key="in/a b.jsonl", Body=b"one\n")
    store.upload_file(str(large), "evals", "in/large.jsonl")
    store.put_object(Bucket="evals", Key="in/a b.jsonl", Body=b"two\n")
    assert store.get_object(Bucket="evals", Key="in/a b.jsonl")["Body"].read() == b"two\n"
    assert store.head_object(Bucket="evals", Key="in/large.jsonl")["ContentLength"] == 200_000
    store.download_file("evals", "in/large.jsonl", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == large.read_bytes()
    pages = store.get_paginator("list_objects_v2").paginate(
        Bucket="evals", Prefix="in/", PaginationConfig={"PageSize": 1}
    )
    assert [one["Key"] for page in pages for one in page["Contents"]] == [
        "in/a b.jsonl", "in/large.jsonl"
    ]  # fmt: skip
    store.delete_object(Bucket="evals", Key="in/a b.jsonl")
    gone = refused(store.get_object, Bucket="evals", Key="in/a b.jsonl")
    assert gone[:2] == (404, "NoSuchKey")
    arguments = {"Bucket": "no-such-bucket", "Key": "x", "Body": b""}
    assert refused(store.put_object, **arguments)[:2] == (404, "NoSuchBucket")
    assert refused(store.put_object, **{**arguments, "Bucket": "closed"})[1] == "AccessDenied"
    assert store.list_objects_v2(Bucket="other")["KeyCount"] == 0
    wrong = _s3(sim, "AKIAWRONG1234567890")
    assert refused(wrong.list_objects_v2, Bucket="evals")[1] == "InvalidAccessKeyId"


def _s3(sim: Handle, key: str = "AKIAPLANTED1234567") -> Any:
    return boto3.Session(key, "x" * 40, region_name="us-east-1").client(
        "s3", endpoint_url=sim.base_url("bedrock"),
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )  # fmt: skip


def lines(count: int) -> bytes:
    """A request file of so many records."""
    records = (
        {"recordId": f"item{n}", "modelInput": {"messages": [
            {"role": "user", "content": [{"text": f"Riddle {n}: which letter?"}]}]}}
        for n in range(count)
    )  # fmt: skip
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def started(clients: dict[str, Any], data: bytes, **more: Any) -> str:
    """The ARN of a job over a request file."""
    clients["s3"].put_object(Bucket="evals", Key="in/batch.jsonl", Body=data)
    arguments = {
        "jobName": "evalbench-a1", "clientRequestToken": "a1", "modelId": HAIKU,
        "roleArn": "arn:aws:iam::123456789012:role/batches", "modelInvocationType": "Converse",
        "inputDataConfig": {"s3InputDataConfig": {"s3Uri": "s3://evals/in/batch.jsonl"}},
        "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": "s3://evals/out/"}},
    }  # fmt: skip
    arn: str = clients["bedrock"].create_model_invocation_job(**{**arguments, **more})["jobArn"]
    return arn


def results(clients: dict[str, Any], arn: str) -> list[dict[str, Any]]:
    key = f"out/{arn.rpartition('/')[2]}/batch.jsonl.out"
    body = clients["s3"].get_object(Bucket="evals", Key=key)["Body"].read()
    return [orjson.loads(line) for line in body.splitlines()]


def test_a_job_from_its_file_to_its_results(sim: Handle, clients: dict[str, Any]) -> None:
    control = clients["bedrock"]
    sim.batch(waiting=60, running=600, failing=[7])
    arn = started(clients, lines(120))
    assert started(clients, lines(120)) == arn
    assert control.get_model_invocation_job(jobIdentifier=arn)["status"] == "Validating"
    [listed] = control.list_model_invocation_jobs(nameContains="a1")["invocationJobSummaries"]
    assert listed["jobArn"] == arn
    assert not control.list_model_invocation_jobs(nameContains="b2")["invocationJobSummaries"]
    sim.advance(120)
    job = control.get_model_invocation_job(jobIdentifier=arn)
    assert (job["status"], job["processedRecordCount"]) == ("InProgress", 12)
    sim.advance(600)
    job = control.get_model_invocation_job(jobIdentifier=arn)
    assert (job["status"], job["errorRecordCount"]) == ("PartiallyCompleted", 1)
    assert [result.get("error", {}).get("errorCode") for result in results(clients, arn)][6] == 500


def test_jobs_end_in_every_way(sim: Handle, clients: dict[str, Any]) -> None:
    control = clients["bedrock"]

    def told(arn: str) -> tuple[str, int]:
        job = control.get_model_invocation_job(jobIdentifier=arn)
        return job["status"], job["successRecordCount"]

    arn = started(clients, lines(100))
    assert told(arn) == ("Completed", 100)
    answers = results(clients, arn)
    assert [answer["recordId"] for answer in answers] == [f"item{n}" for n in range(100)]
    shape = service_model("bedrock-runtime").operation_model("Converse").output_shape
    for answer in answers:
        assert list(unshaped(answer["modelOutput"], shape, "modelOutput")) == []
        assert answer["modelInput"]["messages"]
    sim.batch(failing=[3])
    arn = started(clients, lines(100), jobName="b", clientRequestToken="b")
    assert told(arn) == ("PartiallyCompleted", 99)
    assert results(clients, arn)[2]["error"]["errorCode"] == 500
    arn = started(clients, lines(99), jobName="c", clientRequestToken="c")
    job = control.get_model_invocation_job(jobIdentifier=arn)
    assert job["status"] == "Failed"
    assert "minimum of 100" in job["message"]
    sim.no_faults()
    sim.batch(running=1000)
    arn = started(clients, lines(100), jobName="d", clientRequestToken="d")
    assert told(arn)[0] == "InProgress"
    control.stop_model_invocation_job(jobIdentifier=arn)
    assert told(arn)[0] == "Stopped"
    assert len(results(clients, arn)) < 100


def test_jobs_that_cannot_be(sim: Handle, clients: dict[str, Any]) -> None:
    for more, code in (
        ({"roleArn": "nobody"}, "ValidationException"),
        ({"modelInvocationType": "InvokeModel"}, "ValidationException"),
        ({"inputDataConfig": {"s3InputDataConfig": {"s3Uri": "s3://evals/in/nothing.jsonl"}}},
         "ValidationException"),
        ({"inputDataConfig": {"s3InputDataConfig": {"s3Uri": "s3://evals/in/a.json"}}},
         "ValidationException"),
    ):  # fmt: skip
        with pytest.raises(ClientError) as caught:
            started(clients, lines(1), **more)
        assert caught.value.response["Error"]["Code"] == code
    call = clients["bedrock"].get_model_invocation_job
    assert refused(call, jobIdentifier="abcdefabcdef")[1] == "ResourceNotFoundException"
