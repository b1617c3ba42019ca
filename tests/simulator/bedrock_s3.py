"""S3 behind Bedrock's address: put, get, head, list, delete. Whatever bucket is named is there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import md5
from urllib.parse import unquote
from xml.sax.saxutils import escape

from tests.simulator.batch_files import StoredFile
from tests.simulator.exchange import Answer, Exchange
from tests.simulator.world import World

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_API = "s3"
_GONE_BUCKET = "no-such-bucket"
"""A bucket of this name is not there; one that is called ``closed`` lets nobody in."""
_CLOSED_BUCKET = "closed"
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class ObjectStore:
    """Objects of all buckets, by owner. Sized by tests: everything is in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    def put(self, owner: str, bucket: str, key: str, data: bytes, now: float) -> None:
        """Store an object, over an older one."""
        if (old := self.find(owner, bucket, key)) is not None:
            self._world.files.delete(old)
        self._world.files.store(_API, owner, f"{bucket}/{key}", bucket, data, now)

    def find(self, owner: str, bucket: str, key: str) -> StoredFile | None:
        """An object."""
        name = f"{bucket}/{key}"
        files = self._world.files.listed(_API, owner)
        return next((file for file in files if file.name == name), None)

    def listed(self, owner: str, bucket: str, prefix: str) -> list[StoredFile]:
        """The objects of a bucket whose keys begin with a prefix, by key."""
        files = self._world.files.listed(_API, owner)
        found = [file for file in files if file.name.startswith(f"{bucket}/{prefix}")]
        return sorted(found, key=lambda file: file.name)

    def serve(self, exchange: Exchange, owner: str) -> Answer:
        """One request, addressed by path: ``/bucket/key``."""
        bucket, _, quoted = exchange.tail.partition("/")
        key = unquote(quoted)
        if bucket == _GONE_BUCKET:
            return error(404, "NoSuchBucket", "The specified bucket does not exist")
        if bucket == _CLOSED_BUCKET:
            return error(403, "AccessDenied", "Access Denied")
        match exchange.method:
            case "PUT":
                self.put(owner, bucket, key, exchange.raw, exchange.now)
                # A body here would be read as a failure.
                return Answer(b"", headers={"etag": _tag(exchange.raw)})
            case "DELETE":
                if (file := self.find(owner, bucket, key)) is not None:
                    self._world.files.delete(file)
                return Answer(b"", 204)
        if not key:
            return self._list(exchange, owner, bucket)
        file = self.find(owner, bucket, key)
        if file is None:
            return error(404, "NoSuchKey", "The specified key does not exist.")
        return _content(exchange, file)

    def _list(self, exchange: Exchange, owner: str, bucket: str) -> Answer:
        query = exchange.query
        if query.get("list-type") != ["2"]:
            return error(501, "NotImplemented", "The simulator lists by version 2 only.")
        prefix = query.get("prefix", [""])[0]
        most = int(query.get("max-keys", ["1000"])[0])
        start = int(query.get("continuation-token", ["0"])[0])
        files = self.listed(owner, bucket, prefix)
        page, more = files[start : start + most], len(files) > start + most
        contents = "".join(
            f"<Contents><Key>{escape(file.name.partition('/')[2])}</Key>"
            f"<LastModified>{_moment(file.created)}</LastModified><ETag>{_tag(file.data)}</ETag>"
            f"<Size>{len(file.data)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for file in page
        )
        token = f"<NextContinuationToken>{start + most}</NextContinuationToken>" if more else ""
        text = (
            f'<ListBucketResult xmlns="{_NAMESPACE}"><Name>{escape(bucket)}</Name>'
            f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
            f"<MaxKeys>{most}</MaxKeys><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{contents}{token}</ListBucketResult>"
        )
        return Answer(text.encode(), content_type="application/xml")


def _content(exchange: Exchange, file: StoredFile) -> Answer:
    headers = {"etag": _tag(file.data), "last-modified": _http_date(file.created)}
    wanted = _RANGE.fullmatch(exchange.headers.get("Range", ""))
    if wanted is None:
        return Answer(file.data, headers=headers, content_type="binary/octet-stream")
    start, size = int(wanted[1]), len(file.data)
    end = min(int(wanted[2] or size - 1), size - 1)
    headers["content-range"] = f"bytes {start}-{end}/{size}"
    part = file.data[start : end + 1]
    return Answer(part, 206, headers, content_type="binary/octet-stream")


def error(status: int, code: str, message: str) -> Answer:
    """An error in S3's form."""
    text = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return Answer(text.encode(), status, content_type="application/xml")


_NAMES = {
    "UnrecognizedClientException": "InvalidAccessKeyId",
    "ExpiredTokenException": "ExpiredToken",
    "InvalidSignatureException": "RequestTimeTooSkewed",
    "MissingAuthenticationTokenException": "AccessDenied",
    "AccessDeniedException": "AccessDenied",
}


def in_s3s_words(answer: Answer) -> Answer:
    """What AWS's front door says, as S3 says it."""
    name = answer.headers.get("x-amzn-errortype", "")
    return error(answer.status, _NAMES.get(name, name), answer.body["message"])


def _tag(data: bytes) -> str:
    return f'"{md5(data, usedforsecurity=False).hexdigest()}"'


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _http_date(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
