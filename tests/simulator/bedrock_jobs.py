"""Bedrock's batch jobs: a file in a bucket, a job over it, results in a bucket.

A file that cannot be read and a batch of too few records fail as a whole after
validation, as at Bedrock; a request that is wrong fails in its own line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import orjson

from tests.simulator.batches import Batch, Fate, Item, Worker
from tests.simulator.bedrock_checks import Caller, check, error, service_model
from tests.simulator.bedrock_s3 import ObjectStore
from tests.simulator.clock import rfc3339
from tests.simulator.exchange import Answer, Exchange, Handler, Refused
from tests.simulator.world import World

ACCOUNT = "123456789012"
LEAST_RECORDS = 100
"""What Bedrock demands of a job for most models."""
_MOST_RECORDS = 50_000
_PLACE = re.compile(r"s3://(?P<bucket>[^/]+)/?(?P<key>.*)")
_TOO_FEW = f"Your batch job contains fewer than the minimum of {LEAST_RECORDS} records."


class Jobs:
    """``/model-invocation-job`` and ``/model-invocation-jobs``.

    Args:
        world: the simulator's.
        store: where files lie.
        converse: answers one request by the path it would have had by itself.
    """

    def __init__(
        self, world: World, store: ObjectStore, converse: Callable[[str], Handler]
    ) -> None:
        self._world = world
        self._store = store
        self._worker = Worker(converse, error, _write, _unserved)

    def create(self, exchange: Exchange, caller: Caller) -> Answer:
        """CreateModelInvocationJob."""
        value: dict[str, Any] = exchange.body
        shape = service_model("bedrock").operation_model("CreateModelInvocationJob").input_shape
        check(value, shape)
        if value.get("modelInvocationType") != "Converse":
            _refuse("The simulator works off jobs of the type Converse only.")
        token = value.get("clientRequestToken")
        for job in self._world.batches.listed("bedrock", caller.key):
            if token and job.about["clientRequestToken"] == token:
                return Answer({"jobArn": _arn(job)})
            if job.about["jobName"] == value["jobName"]:
                raise Refused(error(409, "The job name is already in use.", "ConflictException"))
        items, why = self._items(caller, value)
        about = {**value, "region": caller.region, "clientRequestToken": token}
        if why:
            about["errors"] = why
        job = self._world.batches.make(exchange, "bedrock", "", items, about)
        return Answer({"jobArn": _arn(job)})

    def get(self, exchange: Exchange, caller: Caller) -> Answer:
        """GetModelInvocationJob."""
        return Answer(self._told(self._find(exchange.tail, caller), exchange))

    def listed(self, exchange: Exchange, caller: Caller) -> Answer:
        """ListModelInvocationJobs, newest first, by pages."""
        query = {name: values[0] for name, values in exchange.query.items()}
        named = query.get("nameContains", "")
        jobs = self._world.batches.listed("bedrock", caller.key)
        told = [self._told(job, exchange) for job in jobs if named in job.about["jobName"]]
        if wanted := query.get("statusEquals"):
            told = [job for job in told if job["status"] == wanted]
        start, most = int(query.get("nextToken", "0")), int(query.get("maxResults", "100"))
        more = {"nextToken": str(start + most)} if len(told) > start + most else {}
        return Answer({"invocationJobSummaries": told[start : start + most], **more})

    def stop(self, exchange: Exchange, caller: Caller) -> Answer:
        """StopModelInvocationJob."""
        job = self._find(exchange.tail.removesuffix("/stop"), caller)
        self._settle(job, exchange)
        if job.over:
            raise Refused(error(409, "The job has already ended.", "ConflictException"))
        job.cancel_asked = job.cancel_asked or exchange.now
        return Answer({})

    def _find(self, quoted: str, caller: Caller) -> Batch:
        name = unquote(quoted).rpartition("/")[2]
        for job in self._world.batches.listed("bedrock", caller.key):
            if job.id[-12:] == name and job.about["region"] == caller.region:
                return job
        raise Refused(error(404, "Could not find the specified job."))

    def _items(self, caller: Caller, value: dict[str, Any]) -> tuple[list[Item], str]:
        """The requests of a job, and why it will fail as a whole."""
        bucket, key = _place(value["inputDataConfig"]["s3InputDataConfig"]["s3Uri"])
        if not key.endswith(".jsonl"):
            _refuse("The input file must have the extension .jsonl.")
        file = self._store.find(caller.key, bucket, key)
        if file is None:
            _refuse(f"Amazon Bedrock could not access the S3 object {bucket}/{key}.")
        path = f"/bedrock/model/{quote(value['modelId'], safe='')}/converse"
        items: list[Item] = []
        for number, line in enumerate(file.data.splitlines(), 1):
            try:
                record = orjson.loads(line)
                raw = orjson.dumps(record["modelInput"])
            except (orjson.JSONDecodeError, KeyError, TypeError):
                return items, f"The record in line {number} is not valid."
            items.append(Item(str(record.get("recordId") or f"CALL{number:07d}"), path, raw))
        if len(items) > _MOST_RECORDS:
            return items, f"Your batch job contains more than {_MOST_RECORDS} records."
        return items, _TOO_FEW if len(items) < LEAST_RECORDS else ""

    def _settle(self, job: Batch, exchange: Exchange) -> None:
        before = job.over
        self._world.batches.settle(job, exchange.now, self._worker)
        if job.over and not before and job.phase != "refused":
            self._deliver(job, exchange.now)

    def _deliver(self, job: Batch, now: float) -> None:
        """Put results where the job said; requests without a turn have no line."""
        bucket, prefix = _place(job.about["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"])
        given = job.about["inputDataConfig"]["s3InputDataConfig"]["s3Uri"].rpartition("/")[2]
        folder = "/".join(filter(None, (prefix.rstrip("/"), job.id[-12:])))
        if job.script.gone:
            return
        served = job.counts["succeeded"] + job.counts["errored"]
        job.lines = job.lines[:served]
        self._store.put(job.key, bucket, f"{folder}/{given}.out", job.results(), now)
        manifest = {
            "totalRecordCount": len(job.items),
            "processedRecordCount": served,
            "successRecordCount": job.counts["succeeded"],
            "errorRecordCount": job.counts["errored"],
            "inputTokenCount": job.tokens["input_tokens"],
            "outputTokenCount": job.tokens["output_tokens"],
        }
        self._store.put(job.key, bucket, f"{folder}/manifest.json.out", orjson.dumps(manifest), now)

    def _told(self, job: Batch, exchange: Exchange) -> dict[str, Any]:
        self._settle(job, exchange)
        kept = (
            *("jobName", "modelId", "clientRequestToken", "roleArn", "modelInvocationType"),
            *("inputDataConfig", "outputDataConfig", "timeoutDurationInHours"),
        )
        told = {name: job.about[name] for name in kept if job.about.get(name) is not None}
        done = job.counts["succeeded"] + job.counts["errored"]
        told |= {
            "jobArn": _arn(job),
            "status": _status(job),
            "submitTime": rfc3339(job.created),
            "lastModifiedTime": rfc3339(exchange.now),
            "jobExpirationTime": rfc3339(job.expires),
            "totalRecordCount": len(job.items),
            "processedRecordCount": done,
            "successRecordCount": job.counts["succeeded"],
            "errorRecordCount": job.counts["errored"],
        }
        if job.over:
            told["endTime"] = rfc3339(exchange.now)
        if job.phase == "refused":
            told["message"] = job.about.get("errors") or job.script.refused
        return told


def _status(job: Batch) -> str:
    match job.phase:
        case "waiting":
            return "Validating"
        case "running" | "finishing":
            return "InProgress"
        case "cancelling":
            return "Stopping"
        case "cancelled":
            return "Stopped"
        case "expired":
            return "Expired"
        case "refused":
            return "Failed"
    return "PartiallyCompleted" if job.counts["errored"] else "Completed"


def _arn(job: Batch) -> str:
    region = job.about["region"]
    return f"arn:aws:bedrock:{region}:{ACCOUNT}:model-invocation-job/{job.id[-12:]}"


def _place(uri: str) -> tuple[str, str]:
    found = _PLACE.fullmatch(uri)
    if found is None:
        _refuse(f"The S3 URI {uri} is not valid.")
    return found["bucket"], found["key"]


def _refuse(message: str) -> NoReturn:
    raise Refused(error(400, message))


def _write(item: Item, exchange: Exchange, answer: Answer) -> bytes:
    record: dict[str, Any] = {"recordId": item.id, "modelInput": orjson.loads(item.raw)}
    if answer.status == 200:
        record["modelOutput"] = answer.body
    else:
        message = answer.body["message"]
        record["error"] = {"errorCode": answer.status, "errorMessage": message}
    return orjson.dumps(record)


def _unserved(item: Item, fate: Fate, ordinal: int) -> bytes:
    """Never delivered: Bedrock leaves out what had no turn."""
    return b""
