"""An HTTP server of Python's own library as a load-balancing endpoint runs it: it says what it was asked, and remembers all that it was."""
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SEEN = []


class Worker(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                length += size
                self.rfile.read(size + 2)
                if size == 0:
                    break
        else:
            self.rfile.read(length)
        if self.path != os.environ["HEALTH_CHECK_PATH"]:
            SEEN.append(f"{self.command} {self.path}")
        body = json.dumps({"seen": SEEN, "bytes": length}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Worker).serve_forever()
