#!/usr/bin/env python3
"""What a server has and answers beside MySQL 9.7: same, differs, missing.

    lab/compat/compat.py --server PORT:USER:PASSWORD --oracle PORT:USER:PASSWORD [--sections variables,counters,tables,collations,settings]
        [--all] [--out FILE]

Sections: `variables` (names, scopes, values), `settings` (what SET answers to a list of values of each variable, and what the variable holds
then), `counters` (names of SHOW STATUS), `tables` (of information_schema, mysql, performance_schema and sys: names and columns),
`collations` (names, ids, attributes).
Each section ends with one line `SECTION: N same, N differ, N missing, N more here`; above it stands each name that is not the same, with what
differs. `settings` changes globals of both servers and sets them back: give it servers that nothing else uses, both just started.
Needs PyMySQL. The exit code is 0 whatever is found: this is a list, not a test."""

import argparse
import os
import re
import sys

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ["variables", "counters", "tables", "collations", "settings"]
SCHEMAS = ["information_schema", "mysql", "performance_schema", "sys"]
# Values that describe the host, the build or this moment, and are compared by their presence alone.
OF_THE_HOST = re.compile(r"""^(basedir|build_id|character_sets_dir|datadir|hostname|init_file|innodb_version|last_insert_id|lc_messages_dir|license|log_bin_(basename|index)|log_error
    |general_log_file|slow_query_log_file|pid_file|plugin_dir|port|pseudo_thread_id|rand_seed[12]|relay_log(_basename|_index)?|report_port|server_uuid|socket|system_time_zone
    |timestamp|version.*|gtid_.*|bind_address|innodb_buffer_pool_size|tmpdir|sha256_.*_key_path|secure_file_priv|ssl_.*|error_count|warning_count)$""", re.X)
# Setting these starts work, shuts others out, or waits: they are only compared by name.
NOT_SET = re.compile(r"_now$|^(innodb_buffer_pool_size|innodb_buffer_pool_chunk_size|gtid_mode|gtid_next|gtid_purged|offline_mode|innodb_redo_log_capacity|innodb_log_writer_threads|mandatory_roles"
                     r"|innodb_redo_log_encrypt|binlog_encryption|innodb_redo_log_archive_dirs|super_read_only|read_only|pseudo_thread_id|autocommit|sql_log_bin|connect_timeout|wait_timeout|interactive_timeout|net_.*timeout"
                     r"|max_connections|admin_ssl.*|ssl_.*|tls_.*|admin_tls.*|innodb_undo_log_truncate|innodb_monitor.*|dragnet.*|log_error_.*|general_log.*|slow_query_log.*|log_output|require_secure_transport|character_set_results|character_set_client"
                     r"|max_allowed_packet|timestamp|resultset_metadata|collation_connection|character_set_connection|protocol_compression_algorithms|max_execution_time|sql_select_limit|max_join_size|sql_big_selects"
                     r"|statement_memory_limit|connection_memory_limit|global_connection_memory_limit|global_statement_memory_limit|lock_wait_timeout|default_authentication_plugin|authentication_policy|password_.*|event_scheduler|use_secondary_engine|partial_revokes|transaction_.*|completion_type|max_error_count)$")
TRIED = ["DEFAULT", "0", "1", "2", "3", "-1", "7", "100", "1000", "4097", "65537", "1000001", "99999999999", "18446744073709551615", "1.5", "1e3", "'1'", "'x'", "''", "NULL", "ON", "OFF", "'ON'", "TRUE", "-9223372036854775808"]


class Server:
    def __init__(self, text):
        self.port, self.user, self.password = text.split(":", 2)
        self.connect()

    def connect(self):
        self.connection = pymysql.connect(host="127.0.0.1", port=int(self.port), user=self.user, password=self.password, autocommit=True, read_timeout=60)

    def rows(self, text):
        cursor = self.connection.cursor()
        cursor.execute(text)
        return cursor.fetchall()

    def answer(self, text):
        """None, or number and text of the error; and the warnings."""
        try:
            cursor = self.connection.cursor()
            cursor.execute(text)
            while cursor.nextset():
                pass
        except pymysql.err.MySQLError as error:
            if error.args[0] in (0, 2006, 2013):
                self.connect()
            return (error.args[0], error.args[1] if len(error.args) > 1 else ""), []
        return None, [(number, text) for _, number, text in self.rows("SHOW WARNINGS")]

    def value(self, text):
        try:
            return self.rows(text)[0][0]
        except pymysql.err.MySQLError as error:
            return f"error {error.args[0]}"


def compare(section, here, there, out, show_all):
    """Two maps from name to what is compared."""
    missing = sorted(set(there) - set(here))
    more = sorted(set(here) - set(there))
    differ = [name for name in sorted(set(here) & set(there)) if here[name] != there[name]]
    for name in missing:
        out(f"missing  {name}")
    for name in differ:
        out(f"differs  {name}: {here[name]!r:.300} / {there[name]!r:.300}")
    if show_all:
        for name in more:
            out(f"more     {name}")
    same = len(set(here) & set(there)) - len(differ)
    out(f"{section}: {same} same, {len(differ)} differ, {len(missing)} missing, {len(more)} more here\n")


def variables(server):
    found = {}
    for scope in ("GLOBAL", "SESSION"):
        for name, value in server.rows(f"SHOW {scope} VARIABLES"):
            found.setdefault(name, {})[scope] = "" if OF_THE_HOST.match(name) else value
    return found


def counters(server):
    return {name: "" for scope in ("GLOBAL", "SESSION") for name, _ in server.rows(f"SHOW {scope} STATUS")}


def tables(server):
    found = {}
    for schema in SCHEMAS:
        try:
            names = [row[0] for row in server.rows(f"SHOW TABLES FROM {schema}")]
        except pymysql.err.MySQLError:
            continue
        for name in names:
            try:
                columns = [f"{row[0]} {row[1]}" for row in server.rows(f"SHOW COLUMNS FROM {schema}.`{name}`")]
            except pymysql.err.MySQLError as error:
                columns = [f"error {error.args[0]}"]
            found[f"{schema}.{name.lower() if schema != 'information_schema' else name.upper()}"] = columns
    return found


def collations(server):
    return {row[0]: row[1:] for row in server.rows("SHOW COLLATION")} | {row[0] + " (set)": row[1:] for row in server.rows("SHOW CHARACTER SET")}


def settings(server, names):
    """For each variable and scope, each tried value: error, warnings, and the value that the variable has then."""
    found = {}
    for name in names:
        if NOT_SET.match(name):
            continue
        for scope in ("GLOBAL", "SESSION"):
            for value in TRIED:
                error, warnings = server.answer(f"SET {scope} {name} = {value}")
                read = server.value(f"SELECT @@{scope}.{name}")
                found[f"{scope} {name} = {value}"] = (error, warnings, "" if OF_THE_HOST.match(name) else read)
                if error and error[0] in (1193, 1238, 1228, 1229):
                    break
            server.answer(f"SET {scope} {name} = DEFAULT")
        server.connect()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--sections", default="variables,counters,tables,collations")
    parser.add_argument("--names", help="variables of the section `settings`: a pattern")
    parser.add_argument("--all", action="store_true", help="show what only the server has, too")
    parser.add_argument("--out")
    given = parser.parse_args()
    here, there = Server(given.server), Server(given.oracle)
    file = open(given.out, "w") if given.out else sys.stdout

    def out(line):
        print(line, file=file, flush=True)

    for section in given.sections.split(","):
        if section not in SECTIONS:
            sys.exit(f"no section {section}")
        if section == "settings":
            names = sorted(set(variables(here)) & set(variables(there)))
            if given.names:
                names = [name for name in names if re.search(given.names, name)]
            compare(section, settings(here, names), settings(there, names), out, given.all)
        else:
            read = globals()[section]
            compare(section, read(here), read(there), out, given.all)


if __name__ == "__main__":
    main()
