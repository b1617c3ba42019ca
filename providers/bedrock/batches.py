"""Batch jobs: a request file in the user's bucket, a job that reads it, results in the bucket.

Bedrock accesses the bucket through a role that the user created for it. Jobs have a name and a
token, so one whose creation got no response can be found, and creating it again does not make a
second one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalbench.engine.calls import BatchJob, BatchTerms, Call, JobState, Reply
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, NoSuchModel, ProviderError, SpecError
from evalbench.providers.bedrock.boto import CONTROL, STORE, Boto, error_type
from evalbench.providers.bedrock.errors import NAMES
from evalbench.providers.bedrock.prepare import as_json
from evalbench.providers.bedrock.read import read_converse
from evalbench.providers.wire.batches import WireBatches, without_key
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.headers import moment
from evalbench.providers.wire.lenient import as_object
from evalbench.providers.wire.provider import NetworkProvider, wire_name

LEAST_RECORDS = 100
"""Bedrock's minimum records per job for most models; a quota that cannot be raised."""
TERMS = BatchTerms(
    most_requests=50_000, most_bytes=1_000_000_000, least_requests=LEAST_RECORDS,
    creates_per_minute=10, made_once=True,
)  # fmt: skip
_HOURS = 24
_NOT_IN_JOBS = ("serviceTier", "performanceConfig")
_PLACE = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([\w!.*'()/-]*))?")
_STATES = {
    "Submitted": JobState.WAITING,
    "Validating": JobState.WAITING,
    "Scheduled": JobState.WAITING,
    "InProgress": JobState.RUNNING,
    "Stopping": JobState.RUNNING,
    "Completed": JobState.ENDED,
    "PartiallyCompleted": JobState.ENDED,
    "Failed": JobState.FAILED,
    "Stopped": JobState.CANCELLED,
    "Expired": JobState.EXPIRED,
}


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in a bucket, without leading or trailing slashes."""

    bucket: str
    folder: str

    def key(self, *parts: str) -> str:
        """The key of an object in it."""
        return "/".join(filter(None, (self.folder, *parts)))

    def uri(self, *parts: str) -> str:
        """Its URL."""
        return f"s3://{self.bucket}/{self.key(*parts)}"


def read_place(given: str) -> Place:
    """Parse ``s3://BUCKET/FOLDER``.

    Raises:
        SpecError: it is invalid.
    """
    found = _PLACE.fullmatch(given.strip())
    if found is None:
        raise SpecError(
            "batch_bucket",
            f"--batch-bucket cannot be {given!r}",
            hint="for example --batch-bucket s3://my-bucket/evalbench",
        )
    return Place(found[1], (found[2] or "").strip("/"))


class InvocationJobs(WireBatches):
    """The batches of Bedrock."""

    item_field = "recordId"

    def __init__(
        self,
        provider: NetworkProvider,
        boto: Boto,
        place: Place | None,
        role: str,
        failure: Callable[..., ProviderError],
    ) -> None:
        """Set up.

        Args:
            provider: as for every :class:`WireBatches`.
            boto: the transport for requests and files.
            place: where files are; None: there are no batches.
            role: that of Bedrock in that place; empty: there are no batches.
            failure: interprets an error response, about a model if named.
        """
        super().__init__(provider)
        self._boto = boto
        self._bucket = place
        self._role = role
        self._failure = failure

    @override
    def terms(self, model: str) -> BatchTerms | None:
        return TERMS if self._bucket and self._role else None

    def _place(self) -> Place:
        if self._bucket is None:
            raise CallRejected("batches on Bedrock need --batch-bucket and --batch-role")
        return self._bucket

    @override
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        body = {name: value for name, value in prepared.body.items() if name not in _NOT_IN_JOBS}
        return b'{"recordId":"%s","modelInput":%s}' % (item.encode(), as_json(body))

    @override
    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        self.provider.check_secret()
        place = self._place()
        with await asyncio.to_thread(file.open, "rb") as lines:
            answered = await self._boto.call(
                STORE, "put_object", Bucket=place.bucket, Key=place.key("in", f"{name}.jsonl"),
                Body=lines,
            )  # fmt: skip
        if answered.status != 200:
            raise self._store_trouble(answered)
        return {"input": place.uri("in", f"{name}.jsonl"), "output": place.uri("out") + "/"}

    @override
    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        self.provider.check_secret()
        answered = await self._boto.call(
            CONTROL,
            "create_model_invocation_job",
            jobName=_job_name(name),
            clientRequestToken=name,
            roleArn=self._role,
            modelId=model,
            modelInvocationType="Converse",
            inputDataConfig={
                "s3InputDataConfig": {"s3Uri": uploaded["input"], "s3InputFormat": "JSONL"}
            },
            outputDataConfig={"s3OutputDataConfig": {"s3Uri": uploaded["output"]}},
            timeoutDurationInHours=_HOURS,
        )
        body = self._object(answered, model)
        if not isinstance(arn := body.get("jobArn"), str):
            raise self._unclear()
        return BatchJob(arn, JobState.WAITING, name)

    @override
    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        self.provider.check_secret()
        query = {"nameContains": _job_name(name)}
        while True:
            answered = await self.within(
                self._boto.call(CONTROL, "list_model_invocation_jobs", **query)
            )
            body = self._object(answered)
            listed = body.get("invocationJobSummaries") or []
            if ours := [job for job in listed if job.get("jobName") == _job_name(name)]:
                return [self._job(job) for job in ours]
            # A filtered page may be empty although another follows.
            following = body.get("nextToken")
            if not following or following == query.get("nextToken"):
                return []
            query["nextToken"] = str(following)

    @override
    async def poll(self, job: str, model: str) -> BatchJob:
        self.provider.check_secret()
        answered = await self.within(
            self._boto.call(CONTROL, "get_model_invocation_job", jobIdentifier=job)
        )
        return self.as_of(self._job(self._object(answered, what="this batch")), answered)

    @without_key
    @override
    async def fetch(self, job: BatchJob, into: Path) -> None:
        """A call that was never processed has no line."""
        self.provider.check_secret()
        place = read_place(job.results["output"])
        folder = place.key(job.id.rpartition("/")[2])
        name = job.results["input"].rpartition("/")[2]
        answered = await self._boto.download(place.bucket, f"{folder}/{name}.out", into)
        if answered.status != 200:
            raise self._store_trouble(answered)

    @override
    async def cancel(self, job: str, model: str) -> None:
        """A job that has ended stays as it is."""
        self.provider.check_secret()
        answered = await self.within(
            self._boto.call(CONTROL, "stop_model_invocation_job", jobIdentifier=job)
        )
        if answered.status not in (200, 409):
            raise self._trouble(answered, "", "this batch")

    @override
    def read_result(self, result: dict[str, Any], call: Call) -> Reply:
        model = wire_name(call)
        if body := as_object(result.get("modelOutput")):
            return self.read_body(
                body,
                result[self.item_field],
                call,
                lambda answer, arrival: read_converse(answer, arrival, model),
            )
        if isinstance(error := result.get("error"), dict):
            status = error.get("errorCode")
            status = status if isinstance(status, int) else 500
            name = {"x-amzn-errortype": NAMES[status]} if status in NAMES else {}
            body = {"message": str(error.get("errorMessage") or "")}
            return self.read_error_line(status, body, call, name)
        raise self.broken_line(result)

    def _job(self, told_job: Mapping[str, Any]) -> BatchJob:
        try:
            given = told_job["inputDataConfig"]["s3InputDataConfig"]["s3Uri"]
            put = told_job["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"]
            arn, status = str(told_job["jobArn"]), told_job.get("status")
        except (KeyError, TypeError):
            raise self._unclear() from None
        # An unknown state counts as running.
        state = _STATES.get(str(status), JobState.RUNNING)
        why = str(told_job.get("message") or "")
        return BatchJob(
            id=arn,
            state=state,
            name=str(told_job.get("jobName") or "").removeprefix("evalbench-"),
            total=told_job.get("totalRecordCount"),
            succeeded=told_job.get("successRecordCount"),
            failed=told_job.get("errorRecordCount"),
            why=why or ("" if str(status) in _STATES else f"its state is {status!r}"),
            expires=moment(told_job.get("jobExpirationTime")),
            results={"input": given, "output": put},
            created=moment(told_job.get("submitTime")),
        )

    def _trouble(self, answered: Answered, model: str, what: str) -> ProviderError:
        error = self._failure(answered, model)
        if what and error_type(answered) == "ResourceNotFoundException":
            return CallRejected(f"{self.title} has {what} no longer", why=error.why)
        return error

    def _store_trouble(self, answered: Answered) -> ProviderError:
        error = self._failure(answered)
        if answered.status == 404 and b"NoSuchBucket" not in answered.body:
            return CallRejected("the results of this batch are not in the bucket", why=error.why)
        if answered.status == 404:
            return NoSuchModel(
                f"there is no bucket {self._place().bucket!r}",
                why=error.why,
                hint="check --batch-bucket; it must be in the region that is asked",
            )
        if answered.status == 403:
            error.what = f"these credentials may not use the bucket {self._place().bucket!r}"
            error.hint = "allow s3:PutObject and s3:GetObject there, or take another bucket"
        return error


def _job_name(name: str) -> str:
    return f"evalbench-{name}"
