#!/usr/bin/env bash
# A form with a hidden token: each VU fetches the page, fills the form in and submits it. Needs python3 for the site.
set -euo pipefail
cd "$(dirname "$0")"
folder=$(mktemp -d)
python3 form-site.py >"$folder/said" &
site=$!
trap 'kill "$site" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  URL=$(head -n 1 "$folder/said")
  [ -z "$URL" ] || break
  sleep 0.1
done
knee run form.js -e URL="$URL"
