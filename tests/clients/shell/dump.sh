#!/usr/bin/env bash
# Dumps with default options: a database made here is dumped and loaded again under another name, and both dumps are equal.
# With INVAR_ORACLE=mysql://user:password@host:port the same database is made in that MySQL 9.7, dumped there, loaded here,
# dumped here, and loaded there again; MYSQL97_TOOLS may name a folder (or a command prefix) with 9.7's own mysql and
# mysqldump, else the host's are used.
. "$(dirname "$0")/../lib.sh"
passed=0 failed=0
dump=$(command -v mysqldump || command -v mariadb-dump) mysql=$(command -v mysql || command -v mariadb)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here() { local tool=$1; shift; "$tool" --no-defaults -h"$HOST" -P"$PORT" -u"$USER_NAME" ${PASSWORD:+-p"$PASSWORD"} --default-character-set=utf8mb4 "$@"; }
check() { # what, file, file
    if cmp -s "$2" "$3"; then passed=$((passed + 1)); else
        failed=$((failed + 1)); echo "FAIL dump: $1"; diff "$2" "$3" | cut -c1-200 | head -10
    fi
}
ran() { # what, exit code, file with messages
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL dump: $1: $(cut -c1-300 "$3" | tail -3)"; fi
}
# Comments name the server and the database.
plain() { LC_ALL=C grep -a -v -E '^(-- |--$|/\*M?!999999|$)' "$1"; }

make() { # command that takes SQL
    "$@" <"$HERE/rich.sql"
}
round() { # label, dump options...
    local label=$1; shift
    here "$dump" "$@" client_dump >"$folder/one.sql" 2>"$folder/messages"; ran "$label: dump" $? "$folder/messages"
    here "$mysql" -e 'DROP DATABASE IF EXISTS client_dump2; CREATE DATABASE client_dump2'
    here "$mysql" client_dump2 <"$folder/one.sql" 2>"$folder/messages"; ran "$label: load" $? "$folder/messages"
    here "$dump" "$@" client_dump2 >"$folder/two.sql" 2>"$folder/messages"; ran "$label: dump again" $? "$folder/messages"
    plain "$folder/one.sql" >"$folder/one"; plain "$folder/two.sql" >"$folder/two"
    check "$label: the loaded database dumps as the first did" "$folder/one" "$folder/two"
}
make here "$mysql" 2>"$folder/messages"; ran "make the database" $? "$folder/messages"
round "default options"
round "--opt" --opt
round "--hex-blob --single-transaction" --hex-blob --single-transaction
round "--skip-extended-insert --complete-insert" --skip-extended-insert --complete-insert
round "--lock-all-tables --skip-opt" --skip-opt --lock-all-tables --create-options
round "--routines --events --triggers" --routines --events --triggers
here "$dump" --all-databases >"$folder/all.sql" 2>"$folder/messages"; ran "--all-databases" $? "$folder/messages"
if LC_ALL=C grep -a -q 'CREATE TABLE `types`' "$folder/all.sql"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL dump: --all-databases has no client_dump"; fi
here "$dump" --databases client_dump >"$folder/one.sql" 2>"$folder/messages"; ran "--databases" $? "$folder/messages"
here "$mysql" -e 'DROP DATABASE client_dump; DROP DATABASE client_dump2'
here "$mysql" <"$folder/one.sql" 2>"$folder/messages"; ran "load --databases" $? "$folder/messages"

if [ -z "${INVAR_ORACLE:-}" ]; then
    echo "shell: dumps to and from MySQL 9.7: LEFT OUT (no INVAR_ORACLE)" >&2
else
    address=${INVAR_ORACLE#mysql://}
    credentials=${address%@*} server=${address#*@}
    dump97=$dump mysql97=$mysql
    if [ -n "${MYSQL97_TOOLS:-}" ]; then
        if [ -d "$MYSQL97_TOOLS" ]; then MYSQL97_TOOLS=$MYSQL97_TOOLS/; fi
        dump97=${MYSQL97_TOOLS}mysqldump mysql97=${MYSQL97_TOOLS}mysql
    else
        echo "shell: MySQL 9.7's own mysqldump and mysql: LEFT OUT (no MYSQL97_TOOLS)" >&2
    fi
    there() { # unquoted on purpose: a tool may be a command with a prefix
        local tool=$1; shift; $tool --no-defaults -h"${server%:*}" -P"${server#*:}" -u"${credentials%:*}" -p"${credentials#*:}" --default-character-set=utf8mb4 "$@"
    }
    our() { local tool=$1; shift; $tool --no-defaults -h"$HOST" -P"$PORT" -u"$USER_NAME" ${PASSWORD:+-p"$PASSWORD"} --default-character-set=utf8mb4 "$@"; }
    make there "$mysql97" 2>"$folder/messages"; ran "9.7: make the database" $? "$folder/messages"
    # Other options than default: rows in the order of a key (else each server reads them from the index it likes), no date.
    stable="--order-by-primary --skip-dump-date"
    for options in "" "--hex-blob --single-transaction" "--skip-extended-insert"; do
        there "$dump97" $stable $options client_dump >"$folder/one.sql" 2>"$folder/messages"; ran "9.7 $options: dump" $? "$folder/messages"
        our "$mysql97" -e 'DROP DATABASE IF EXISTS client_dump; CREATE DATABASE client_dump' 2>/dev/null
        # A dump's identifiers of transactions can be taken in once; the next time this is refused, as by 9.7 itself.
        LC_ALL=C grep -a -v -E "^SET @@GLOBAL.GTID_PURGED|^'?[0-9a-f-]{36}:|^ *'[0-9a-f]{8}-" "$folder/one.sql" >"$folder/load.sql"
        our "$mysql97" client_dump <"$folder/load.sql" 2>"$folder/messages"; ran "9.7 $options: load here" $? "$folder/messages"
        our "$dump97" $stable $options client_dump >"$folder/two.sql" 2>"$folder/messages"; ran "9.7 $options: dump here" $? "$folder/messages"
        plain "$folder/one.sql" | LC_ALL=C grep -a -v -E "GTID_PURGED|LOG_BIN" >"$folder/one"; plain "$folder/two.sql" >"$folder/two"
        check "9.7 $options: both dumps are equal" "$folder/one" "$folder/two"
        there "$mysql97" -e 'DROP DATABASE IF EXISTS client_dump2; CREATE DATABASE client_dump2' 2>/dev/null
        there "$mysql97" client_dump2 <"$folder/two.sql" 2>"$folder/messages"; ran "9.7 $options: load there" $? "$folder/messages"
        there "$mysql97" -N -e "CHECKSUM TABLE client_dump.types, client_dump.child, client_dump.nokey, client_dump.many, client_dump.big, client_dump.defs" 2>/dev/null | cut -f2 >"$folder/one"
        there "$mysql97" -N -e "CHECKSUM TABLE client_dump2.types, client_dump2.child, client_dump2.nokey, client_dump2.many, client_dump2.big, client_dump2.defs" 2>/dev/null | cut -f2 >"$folder/two"
        check "9.7 $options: checksums after the way there and back" "$folder/one" "$folder/two"
    done
    there "$mysql97" -e 'DROP DATABASE client_dump; DROP DATABASE client_dump2' 2>/dev/null
fi
here "$mysql" -e 'DROP DATABASE client_dump'
echo "dump passed=$passed failed=$failed"
[ $failed = 0 ]
