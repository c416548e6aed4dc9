#!/bin/bash
# What the official entrypoint does, as far as this project uses it: options alone
# mean redis-server, root is dropped, and other containers may connect.
set -euo pipefail

[[ ${1-} != -* && ${1-} != *.conf ]] || set -- redis-server "$@"
[[ ${1-} == redis-server ]] || exec "$@"

if [[ $EUID == 0 ]]; then
	chown -R redis:redis .
	exec setpriv --reuid=redis --regid=redis --init-groups "$0" "$@"
fi

echo "stand-in for the official redis image: $(redis-server --version)"
exec "$@" --protected-mode no
