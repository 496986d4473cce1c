# Starts the demo server for the examples, and sets URL. Not for running by itself.
set -euo pipefail
folder=$(mktemp -d)
# Extra flags, such as --server-time 4ms, are those of `knee demo`.
knee demo --serve-only "$@" >"$folder/said" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  URL=$(grep -o 'http://[^ ]*' "$folder/said" | head -n 1 || true)
  [ -z "$URL" ] || break
  sleep 0.1
done
[ -n "$URL" ] || { cat "$folder/said"; exit 1; }
