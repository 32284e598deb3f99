"""The application that the http handler calls: a line per call (event id, key, n), and an error to one call of fifty.

Usage: service.py ADDRESS PORT FILE
"""
import json
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

calls = open(sys.argv[3], "a", buffering=1)
lock = Lock()


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fails = random.random() < 0.02
        if not fails:
            with lock:
                calls.write(f"{self.headers['Idempotency-Key']}\t{self.headers['ce-partitionkey']}\t{body['n']}\n")
        self.send_response(503 if fails else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server((sys.argv[1], int(sys.argv[2])), Service).serve_forever()
