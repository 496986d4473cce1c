#!/usr/bin/env bash
# HTTPS and HTTP/2 with a certificate of one's own. Needs openssl and nginx.
set -uo pipefail
folder=$(mktemp -d)
trap '[ ! -f "$folder/pid" ] || kill "$(cat "$folder/pid")"; rm -rf "$folder"' EXIT
chmod 755 "$folder"
port=${PORT:-18443}
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>/dev/null
cat >"$folder/nginx.conf" <<CONF
pid $folder/pid;
error_log $folder/error.log;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:$port ssl http2;
    ssl_certificate $folder/cert.pem;
    ssl_certificate_key $folder/key.pem;
    location / { return 200 "hello\n"; }
  }
}
CONF
nginx -c "$folder/nginx.conf" -p "$folder" 2>/dev/null
knee "https://localhost:$port/" --cacert "$folder/cert.pem" -q 100 -z 1s
knee "https://localhost:$port/" --cacert "$folder/cert.pem" --http2 -c 2 -p 4 -n 400
