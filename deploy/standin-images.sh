#!/usr/bin/env bash
# Give a machine without an image registry stand-ins for the images this project
# needs, built from Debian's packages and this machine's own Go.
#
#   deploy/standin-images.sh           make what is missing
#   deploy/standin-images.sh remove    take the stand-ins away again
#
# A real image is never replaced: an image that is here and is not ours is left
# alone, and one that can be pulled is pulled. Stand-ins carry the label below and
# say what they are when they start. They speak the official images' language
# (POSTGRES_PASSWORD, PGDATA, signals, volumes) as far as this project uses it.
# PostgreSQL, Redis and nginx are in the versions that Debian ships.
set -euo pipefail
cd "$(dirname "$0")/standin"

readonly label=com.example.bankapi.standin
readonly base=bankapi-standin-base
readonly images=(postgres:17 redis:8 nginx:1.28 golang:1.26)

main() {
	case "${1-}" in
	remove) remove ;;
	'') make_missing ;;
	*) die "usage: $0 [remove]" ;;
	esac
}

make_missing() {
	local image
	for image in "${images[@]}"; do
		if is_current "$image"; then
			say "$image is here"
		elif pull "$image"; then
			say "$image pulled"
		else
			build "$image"
		fi
	done
	docker image prune --force --filter "label=$label" >/dev/null # what stood here under the same name
}

# is_current tells whether an image is real, or a stand-in of this very recipe.
is_current() {
	local made_from
	made_from=$(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$1" 2>/dev/null) || return 1
	[[ -z $made_from || $made_from == "<no value>" || $made_from == "$(recipe)" ]]
}

# pull asks a registry once; the first refusal answers for the images that follow.
registry=unknown
pull() {
	[[ $registry != none ]] || return 1
	docker pull --quiet "$1" >/dev/null 2>&1 && return
	registry=none
	return 1
}

build() {
	local image=$1 context
	is_current "$base" || build_base
	say "$image cannot be pulled; building a stand-in"
	context=$(workdir)
	cp -r "${image%%:*}/." "$context"
	if [[ $image == golang:* ]]; then
		cp -r "$(go env GOROOT)" "$context/go"
		cp /etc/ssl/certs/ca-certificates.crt "$context"
	fi
	# The classic builder is the one that always finds a base that is only local.
	DOCKER_BUILDKIT=0 docker build --quiet --tag "$image" --label "$label=$(recipe)" "$context" >/dev/null 2>"$context.log" ||
		die "docker build of $image: $(cat "$context.log")"
}

# build_base makes one Debian with all servers in it, from this machine's mirror.
build_base() {
	local suite mirror root
	[[ $EUID == 0 ]] || die "the stand-ins are made with debootstrap, which needs root: run this script with sudo"
	command -v debootstrap >/dev/null || install_debootstrap
	# shellcheck source=/dev/null
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # apt-get fills these in
	mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Identifier: Packages' |
		awk -v suite="$suite" '$2 == suite { print $1; exit }')
	[[ -n $mirror ]] || die "apt's sources name no mirror for $suite"

	say "building $base from Debian $suite, about a minute"
	root=$(workdir)
	debootstrap --variant=minbase --include=postgresql,redis-server,nginx-light,ca-certificates \
		"$suite" "$root" "$mirror" >"$root.log" 2>&1 || die "debootstrap: $(tail -n 5 "$root.log")"
	# Left out: what only a reader or PostgreSQL's compiler of long queries would miss.
	tar -C "$root" -c \
		--exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' \
		--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
		--exclude='libLLVM*' --exclude='libz3*' --exclude='llvmjit*' --exclude=bitcode \
		--exclude='./var/lib/postgresql/*' --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' . |
		docker import --change "LABEL $label=$(recipe)" - "$base" >/dev/null
}

install_debootstrap() {
	say "installing debootstrap"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends debootstrap >/dev/null
}

remove() {
	local image
	for image in "${images[@]}" "$base"; do
		if [[ -n $(docker images --quiet --filter "label=$label" --filter "reference=$image") ]]; then
			docker rmi "$image" >/dev/null
			say "$image removed"
		fi
	done
}

# recipe changes when anything that goes into a stand-in does.
recipe() {
	{
		cat /etc/os-release
		go version
		find . ../standin-images.sh -type f -print0 | sort -z | xargs -0 cat
	} | sha256sum | cut -c1-16
}

# workdir makes a directory that is gone, with its log, when the script ends.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
workdir() { mktemp -d "$scratch/XXXXXX"; }

say() { printf 'standin-images: %s\n' "$*"; }
die() { say "$@" >&2; exit 1; }

main "$@"
