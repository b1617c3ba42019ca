"""Galileo beyond its OTLP endpoint: the project and log stream, and links to them.

Galileo's own package sends OpenTelemetry spans to the same endpoint with the same three headers,
but needs some twenty packages, and queries two servers before anything is sent. So spans are sent
as to any other destination, and only these four API requests are made here (``galileo`` 2.7:
``resources/api/projects``, ``log_stream``).
"""

from __future__ import annotations

from typing import Any

import requests

from evalbench.engine.config.traces import Destination

_TIMEOUT_S = 5.0


def headers(to: Destination, key: str) -> dict[str, str]:
    """The headers that the OTLP endpoint needs.

    Source: Galileo's documentation on OpenTelemetry.
    """
    return {"Galileo-API-Key": key, "project": to.project, "logstream": to.log_stream}


def links(to: Destination, key: str) -> dict[str, str]:
    """Links into the console; project and log stream are created there if missing.

    Empty strings, and just the console, if the API does not answer as expected.
    """
    api = to.endpoint.removesuffix("/otel/traces")
    found = {"console": to.console, "project": "", "log_stream": ""}
    with requests.Session() as session:
        session.headers["Galileo-API-Key"] = key
        try:
            project = _project(session, api, to.project)
            found["project"] = f"{to.console}/project/{project}"
            stream = _log_stream(session, f"{api}/projects/{project}/log_streams", to.log_stream)
            found["log_stream"] = f"{found['project']}/log-streams/{stream}"
        except (requests.RequestException, KeyError, TypeError, ValueError):
            return found
    return found


def _project(session: requests.Session, api: str, name: str) -> str:
    wanted = {"filters": [{"name": "name", "operator": "eq", "value": name}]}
    found = _asked(session, "POST", f"{api}/projects/paginated", wanted)["projects"]
    for one in found:
        if one["name"] == name:
            return _id(one)
    made = {"name": name, "type": "gen_ai", "create_example_templates": False}
    return _id(_asked(session, "POST", f"{api}/projects", made))


def _log_stream(session: requests.Session, address: str, name: str) -> str:
    for one in _asked(session, "GET", address):
        if one["name"] == name:
            return _id(one)
    return _id(_asked(session, "POST", address, {"name": name}))


def _asked(session: requests.Session, method: str, address: str, body: Any = None) -> Any:
    answer = session.request(method, address, json=body, timeout=_TIMEOUT_S, allow_redirects=False)
    if answer.status_code >= 300:
        raise ValueError(answer.status_code)
    return answer.json()


def _id(one: Any) -> str:
    """An id that is safe in a URL."""
    ident = str(one["id"])
    if not ident.replace("-", "").isalnum():
        raise ValueError(ident)
    return ident
