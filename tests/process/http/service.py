"""A service for tests: `service.py PORT_FILE REQUESTS_FILE`. Writes its port into the first file and each request as a
line of JSON into the second. An event's type says how its request is answered; GET /health is answered as the file
REQUESTS_FILE.health says (a status; no file: 200)."""
import gzip
import json
import os
import socket
import struct
import sys
import threading
import time

port_file, requests_file = sys.argv[1:3]
lock = threading.Lock()
attempts = {}


def note(request):
    with lock:
        with open(requests_file, "a") as file:
            file.write(json.dumps(request) + "\n")


def read_request(stream):
    line = stream.readline().decode()
    if not line:
        return None
    method, path, _ = line.split()
    headers = {}
    while (line := stream.readline().decode().strip()):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return {"method": method, "path": path, "headers": headers, "body": body.decode("latin-1")}


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def response(status, body=b"", **headers):
    head = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}"]
    head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1\r\nx\r\n")
        time.sleep(0.05)


def gigabyte(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _ in range(16384):
        connection.sendall(b"x" * 65536)


def type_of(request):
    """Of a single event, in any style."""
    if "ce-type" in request["headers"]:
        return request["headers"]["ce-type"]
    is_small = request["body"].startswith(("{", "[{")) and len(request["body"]) < 100000
    event = json.loads(request["body"]) if is_small else {}
    if isinstance(event, list) and len(event) == 1:
        event = event[0]
    return event["type"] if isinstance(event, dict) and "type" in event else ""


def answer(connection, request):
    """False: the connection is to be closed."""
    if request["path"] == "/health":
        try:
            status = int(open(requests_file + ".health").read())
        except (FileNotFoundError, ValueError):
            status = 200
        connection.sendall(response(status))
        return True
    note(request)
    kind, _, detail = type_of(request).partition("-")
    first = attempts.setdefault(request["headers"].get("webhook-id"), 0) == 0
    attempts[request["headers"].get("webhook-id")] += 1
    if kind == "Status":
        connection.sendall(response(int(detail), b"because"))
    elif '"Poison"' in request["body"] or kind == "Poison":
        connection.sendall(response(400))
    elif kind == "Once":  # that status once
        connection.sendall(response(int(detail) if first else 200))
    elif kind == "After":
        connection.sendall(response(429, Retry_After=detail) if first else response(200))
    elif kind == "Date":
        later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2))
        connection.sendall(response(503, Retry_After=later) if first else response(200))
    elif kind == "Redirect":
        connection.sendall(response(307, Location="/elsewhere"))
    elif kind == "Slow":
        time.sleep(1000)
    elif kind == "Wait":
        time.sleep(float(detail))
        connection.sendall(response(204))
    elif kind == "Endless":
        endless(connection)
    elif kind == "Gigabyte":
        gigabyte(connection)
    elif kind == "Short":  # says more than it sends
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
        return False
    elif kind == "Reset" and first:  # after `detail` bytes of the answer
        connection.sendall(response(200, b"hello")[: int(detail)])
        reset(connection)
        return False
    elif kind == "Killer":
        reset(connection)
        return False
    elif kind == "ZippedDrop":
        connection.sendall(response(200, gzip.compress(b'{"status": "DROP"}'), Content_Encoding="gzip"))
    elif kind in ("Zipped", "Coded"):
        key = json.loads(request["body"])[0]["idempotencykey"]
        body = gzip.compress(json.dumps([{"event_id": key, "outcome": "dead", "error": "my.class"}]).encode())
        connection.sendall(response(200, body, Content_Encoding="gzip" if kind == "Zipped" else "own"))
    elif kind == "NotJson":
        connection.sendall(response(200, b"OK", Content_Type="application/json"))
    else:
        body = request["headers"].get("content-type", "").startswith("application/cloudevents-batch")
        connection.sendall(response(200, verdicts(request) if body else b""))
    return True


def verdicts(request):
    out = []
    for event in json.loads(request["body"]):
        if event["type"] == "Broken":
            return b'[{"event_id": '
        if event["type"] == "Stranger":
            return b'[{"event_id": "of another", "outcome": "retry"}]'
        if event["type"] == "StrangerAlone":
            return b'{"event_id": "of another", "outcome": "dead"}'
        if event["type"] == "DeadAlone":
            return json.dumps({"event_id": event["id"], "outcome": "dead", "error": "my.class"}).encode()
        if event["type"] == "LongDead":
            out.append({"event_id": event["id"], "outcome": "dead", "message": "x" * 600})
        if event["type"] == "Later":  # until its second attempt
            out.append({"event_id": event["id"], "outcome": "retry" if event["attempt"] == "1" else "dead"})
        if event["type"] == "DeadByKey":
            out.append({"event_id": event["idempotencykey"], "outcome": "dead", "error": "my.class"})
        key = event["idempotencykey"]
        if event["type"] == "Nulls":
            out.append({"event_id": key, "outcome": "done", "delay": None, "error": None, "message": None})
        if event["type"] == "Upper":
            out.append({"event_id": key.upper(), "outcome": "dead"})
        if event["type"] == "Urn":
            out.append({"event_id": "urn:uuid:" + key, "outcome": "dead"})
        if event["type"] == "Never":
            out.append({"event_id": key, "outcome": "retry", "delay": "99999999999999999999999h"})
        if event["type"] == "NotYet" and attempts.get(key) == 1:
            out.append({"event_id": key, "outcome": "defer", "delay": "100ms"})
        if event["type"] == "Dead":
            out.append({"event_id": event["id"], "outcome": "dead", "error": "my.class", "message": "no way"})
    return json.dumps(out).encode() if out else b""


def serve(connection):
    with connection, connection.makefile("rb") as stream:
        try:
            while (request := read_request(stream)) and answer(connection, request):
                pass
        except OSError:
            pass


def main():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = int(os.environ.get("PORT", 0))
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    with open(port_file + ".new", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".new", port_file)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=[connection], daemon=True).start()


main()
