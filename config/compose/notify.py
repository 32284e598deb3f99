"""An application that gets each order as a POST: handler `notify` of inboxd.yaml. Python's standard library only."""
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

known = set()  # a real application keeps this in its database


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event_id = self.headers["Idempotency-Key"]
        if event_id not in known:
            known.add(event_id)
            order = json.loads(body)
            print(f"order {order['orderId']} of {order['customer']}", flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("", int(os.environ.get("PORT", 8080))), Orders).serve_forever()
