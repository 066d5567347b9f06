#!/bin/sh
# usage: need.sh PROGRAM PACKAGE...: installs Debian's packages where the program, a name or a path, is missing.
set -eu
program=$1
shift
command -v "$program" >/dev/null && exit 0
as=
if [ "$(id -u)" != 0 ]; then
	sudo -n true 2>/dev/null || {
		echo "$program is missing, and only root can install it: apt-get install $*" >&2
		exit 1
	}
	as=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$as apt-get update -q
case " $* " in *" postgresql "*)
	# The programs alone: no cluster is made and no server started.
	$as apt-get install -qy --no-install-recommends postgresql-common
	echo "create_main_cluster = false" | $as tee -a /etc/postgresql-common/createcluster.conf >/dev/null
	;;
esac
$as apt-get install -qy --no-install-recommends "$@"
