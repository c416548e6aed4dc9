#!/usr/bin/env bash
# Fuzz every target of the module, one after the other, for the given time each.
#
#   scripts/fuzz.sh DURATION
set -euo pipefail

count=0
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package"
		count=$((count + 1))
	done
done
echo "$count targets, $1 each"
[[ $count -gt 0 ]]
