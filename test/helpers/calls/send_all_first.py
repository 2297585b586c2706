"""Clients that send a whole request before they read anything, as urllib does. Reads a JSON list of requests from stdin:
how, method, url, headers, bytes. Prints a JSON list of [status, text], with status 0 and the error if the connection broke."""

import http.client
import json
import socket
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

TIMEOUT_S = 60
PIECE = b"x" * 65_536
# A proxy of the environment would answer in place of the service.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class OldConnection(http.client.HTTPConnection):
    """HTTP/1.0."""

    _http_vsn = 10
    _http_vsn_str = "HTTP/1.0"


def pieces(size):
    """A body without a length."""
    for start in range(0, size, len(PIECE)):
        yield PIECE[: size - start]


def body_of(asked):
    start = asked.get("start", "").encode()
    return start + b"x" * (asked["bytes"] - len(start))


def by_urllib(asked, data):
    request = urllib.request.Request(asked["url"], data=data, headers=asked["headers"], method=asked["method"])
    try:
        with OPENER.open(request, timeout=TIMEOUT_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def by_connection(kind, asked):
    """Keeps the connection, as far as the version of HTTP does."""
    parts = urlsplit(asked["url"])
    connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_S)
    connection.request(asked["method"], parts.path, body=body_of(asked), headers=asked["headers"])
    answer = connection.getresponse()
    return answer.status, answer.read()


def half_closed(asked):
    """Closes its sending side after the request."""
    parts = urlsplit(asked["url"])
    lines = {"Host": parts.netloc, "Content-Length": asked["bytes"], **asked["headers"]}
    head = f"{asked['method']} {parts.path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines.items()) + "\r\n"
    with socket.create_connection((parts.hostname, parts.port), TIMEOUT_S) as sending:
        sending.sendall(head.encode() + body_of(asked))
        sending.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(sending, method=asked["method"])
        answer.begin()
        return answer.status, answer.read()


WAYS = {
    "urllib": lambda asked: by_urllib(asked, body_of(asked)),
    "chunked": lambda asked: by_urllib(asked, pieces(asked["bytes"])),
    # Sends the body without waiting for 100, as a client may.
    "expect": lambda asked: by_urllib({**asked, "headers": {**asked["headers"], "Expect": "100-continue"}}, body_of(asked)),
    "http.client": lambda asked: by_connection(http.client.HTTPConnection, asked),
    "HTTP/1.0": lambda asked: by_connection(OldConnection, asked),
    "half-close": half_closed,
}


def answer_to(asked):
    try:
        status, text = WAYS[asked["how"]](asked)
        return [status, text.decode()]
    except (OSError, http.client.HTTPException, urllib.error.URLError) as error:
        return [0, repr(error)]


print(json.dumps([answer_to(asked) for asked in json.load(sys.stdin)]))
