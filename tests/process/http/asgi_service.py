"""A service on a server with HTTP/2, TLS and Unix sockets. Appends each request to the file $REQUESTS."""
import json
import os


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    with open(os.environ["REQUESTS"], "a") as file:
        file.write(json.dumps({"version": scope["http_version"], "scheme": scope["scheme"], "headers": headers,
                               "path": scope["path"], "body": body.decode()}) + "\n")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})
