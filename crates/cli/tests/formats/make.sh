#!/bin/sh
# Makes the fixture of this format: sh crates/cli/tests/formats/make.sh target/debug/invar 1
# A data folder as a killed server leaves it: first.sql is in the data file, second.sql in the log behind it.
set -eu
invar=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
folder=$(mktemp -d)
port=25931
client="mysql --no-defaults -h127.0.0.1 -P$port -uroot"

serve() {
    "$invar" serve --no-defaults --data-dir "$folder/data" --port $port --skip-ssl --skip-socket > "$folder/out" &
    server=$!
    until $client -e 'DO 0' 2> /dev/null; do sleep 0.1; done
}

serve
$client < "$here/first.sql"
$client -e SHUTDOWN
wait $server
serve
$client < "$here/second.sql"
kill -9 $server
wait $server || true
rm -rf "$folder"/data/*.log "$folder"/data/*.sock "$folder"/data/#spill
tar -C "$folder" --sparse --owner=0 --group=0 --mtime=@0 -cJf "$here/format-$2.tar.xz" data
rm -r "$folder"
ls -l "$here/format-$2.tar.xz"
