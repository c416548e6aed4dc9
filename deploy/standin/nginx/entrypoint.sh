#!/bin/bash
# What the official entrypoint does, as far as this project uses it: options alone
# mean nginx.
set -euo pipefail

[[ ${1-} != -* ]] || set -- nginx "$@"
[[ ${1-} == nginx ]] || exec "$@"

echo "stand-in for the official nginx image: $(nginx -v 2>&1)"
exec "$@"
