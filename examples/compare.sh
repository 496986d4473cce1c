#!/usr/bin/env bash
# Is B slower than A? Both are started and loaded in turns, so that noise meets both alike.
cd "$(dirname "$0")"
server='knee demo --serve-only --listen 127.0.0.1:{port} --server-workers 2 --server-time'
# Fewer than six blocks cannot show a difference.
knee compare "$server 2ms" "$server 4ms" --blocks 6 --duration 600ms --warm-up 200ms -q 100 || code=$?
# 121 says that B is slower, which it is. 0 says that this machine is too noisy to tell.
[ "${code:-0}" = 121 ] || exit "${code:-0}"
