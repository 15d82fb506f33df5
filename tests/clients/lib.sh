# Shared by the client suites: where the server is, and how a suite says what came out.
# env: HOST PORT USER_NAME PASSWORD (defaults: 127.0.0.1 3306 root '')
set -u
HOST=${HOST:-127.0.0.1} PORT=${PORT:-3306} USER_NAME=${USER_NAME:-root} PASSWORD=${PASSWORD-}
WORK=${WORK:-/tmp/invar-clients}
mkdir -p "$WORK"
export HOST PORT USER_NAME PASSWORD WORK
HERE=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
