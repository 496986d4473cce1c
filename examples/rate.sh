#!/usr/bin/env bash
# 300 requests a second, whether or not the server keeps up: response times contain the wait.
cd "$(dirname "$0")"
. ./demo.sh
knee "$URL" -q 300 --arrivals poisson --warm-up 1s -z 3s
