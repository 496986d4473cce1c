#!/usr/bin/env bash
# How much can it take? One worker that needs 4 ms for a request can answer 250 requests a second.
cd "$(dirname "$0")"
. ./demo.sh --server-workers 1 --server-time 4ms
knee sweep "$URL" --from 100 --to 400 --factor 1.5 --step 1s --max-time 10s --slo 'p90<200ms'
