#!/usr/bin/env bash
# A gate for continuous integration: fails if the service answers wrongly or slowly, or if the measurement is no good.
# `./ci-gate.sh --server-time 200ms --server-workers 2` starts a server that is too slow for it.
cd "$(dirname "$0")"
. ./demo.sh "$@"
# 99: a threshold failed. 120: do not trust this result. Anything but 0 fails the job.
knee run gate.js -e URL="$URL" --require-valid --output-format json >"$folder/result.json" || code=$?
grep -o '"validity": *"[a-z]*"' "$folder/result.json" | head -n 1
exit "${code:-0}"
