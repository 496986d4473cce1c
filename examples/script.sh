#!/usr/bin/env bash
# A k6 script with checks and thresholds. Exit code 99 if a threshold fails, as under k6.
cd "$(dirname "$0")"
. ./demo.sh
knee run script.js -e URL="$URL"
