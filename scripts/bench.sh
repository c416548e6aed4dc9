#!/usr/bin/env bash
# Run benchmarks and compare them with the run before, which bin/ keeps.
#
#   scripts/bench.sh REGEXP COUNT
set -euo pipefail
mkdir -p bin
now=bin/bench.txt
before=bin/bench-before.txt

[[ ! -f $now ]] || mv "$now" "$before"
go test -run '^$' -bench "$1" -benchmem -count "$2" ./... | grep -v '^ok\|no test files' | tee "$now"

go -C tools build -o ../bin/benchstat golang.org/x/perf/cmd/benchstat
if [[ -f $before ]]; then
	bin/benchstat before="$before" now="$now"
else
	bin/benchstat "$now"
fi
