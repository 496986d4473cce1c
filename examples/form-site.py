"""A site with a form: the token of the form must be that of the cookie. Prints its URL first."""
import http.cookies
import http.server
import secrets
import urllib.parse

FORM = """<form method="post" action="/login"><input type="hidden" name="token" value="%s">
<input name="user"><input type="password" name="password"><button>Log in</button></form>"""


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text, headers=()):
        body = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cookie(self, name):
        found = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get(name)
        return found.value if found else ""

    def do_GET(self):
        if self.path == "/login":
            token = secrets.token_hex(8)
            self.answer(200, FORM % token, [("Set-Cookie", f"token={token}")])
        elif self.cookie("user"):
            self.answer(200, f"<p>Hello {self.cookie('user')}")
        else:
            self.answer(403, "<p>Please log in")

    def do_POST(self):
        fields = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if fields.get("token") != [self.cookie("token")] or fields.get("password") != ["secret"]:
            self.answer(403, "<p>No")
            return
        self.answer(303, "", [("Location", "/"), ("Set-Cookie", f"user={fields['user'][0]}")])

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
