import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** One conversation through a JDBC driver, with server prepares off and on; ends with {@code java passed=N failed=N}. */
public final class Conversation {
    private static int passed, failed;
    private static String driver;

    private interface Step { void run() throws Exception; }

    private static void step(String what, Step step) {
        try { step.run(); passed++; } catch (Throwable error) { failed++; System.out.println("FAIL " + driver + ": " + what + ": " + error); }
    }

    private static void same(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError(actual + ", expected " + expected);
    }

    public static void main(String[] arguments) throws Exception {
        driver = arguments[0];
        boolean maria = driver.contains("mariadb");
        String scheme = maria ? "jdbc:mariadb" : "jdbc:mysql";
        String base = scheme + "://" + System.getenv("HOST") + ":" + System.getenv("PORT") + "/";
        String common = "?user=" + System.getenv("USER_NAME") + "&password=" + System.getenv("PASSWORD") + "&allowPublicKeyRetrieval=true&useSSL=false&connectionTimeZone=UTC&characterEncoding=UTF-8";
        if (driver.contains("5.1.49")) common = common.replace("&connectionTimeZone=UTC", "&serverTimezone=UTC");
        for (String options : new String[] {"&useServerPrepStmts=false", "&useServerPrepStmts=true&cachePrepStmts=true", "&rewriteBatchedStatements=true"}) {
            final String url = base + common + options;
            try (Connection link = DriverManager.getConnection(url)) { converse(link, options); }
            catch (Throwable error) { failed++; System.out.println("FAIL " + driver + options + ": " + error); }
        }
        System.out.println("java passed=" + passed + " failed=" + failed);
    }

    private static void converse(Connection link, String options) throws Exception {
        try (Statement first = link.createStatement()) {
            first.execute("DROP DATABASE IF EXISTS client_java");
            first.execute("CREATE DATABASE client_java");
        }
        link.setCatalog("client_java");
        Statement statement = link.createStatement(); // A statement keeps the catalog it was made in.
        statement.execute("CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(100), n DECIMAL(20,4), d DOUBLE, ts DATETIME(6), b BLOB, f BIT(1), u INT UNSIGNED, UNIQUE KEY us (s))");
        step("insert and generated key" + options, () -> {
            PreparedStatement insert = link.prepareStatement("INSERT INTO t (s, n, d, ts, b, f, u) VALUES (?, ?, ?, ?, ?, ?, ?)", Statement.RETURN_GENERATED_KEYS);
            insert.setString(1, "Grüße 🙂"); insert.setBigDecimal(2, new BigDecimal("123456789.1234")); insert.setDouble(3, 0.1);
            insert.setTimestamp(4, Timestamp.valueOf("2024-02-29 12:34:56.789")); insert.setBytes(5, new byte[] {0, -1, 39}); insert.setBoolean(6, true); insert.setLong(7, 4294967295L);
            same(insert.executeUpdate(), 1);
            ResultSet keys = insert.getGeneratedKeys(); keys.next(); same(keys.getLong(1), 1L);
        });
        step("read back" + options, () -> {
            PreparedStatement select = link.prepareStatement("SELECT s, n, d, ts, b, f, u FROM t WHERE id = ?");
            for (int round = 0; round < 3; round++) {
                select.setLong(1, 1);
                ResultSet rows = select.executeQuery(); rows.next();
                same(rows.getString(1), "Grüße 🙂"); same(rows.getBigDecimal(2), new BigDecimal("123456789.1234")); same(rows.getDouble(3), 0.1);
                same(rows.getTimestamp(4), Timestamp.valueOf("2024-02-29 12:34:56.789")); same(Arrays.toString(rows.getBytes(5)), "[0, -1, 39]"); same(rows.getBoolean(6), true); same(rows.getLong(7), 4294967295L);
            }
        });
        step("batch" + options, () -> {
            PreparedStatement insert = link.prepareStatement("INSERT INTO t (s, n) VALUES (?, ?)");
            for (int i = 0; i < 200; i++) { insert.setString(1, "b" + i); insert.setInt(2, i); insert.addBatch(); }
            same(insert.executeBatch().length, 200);
            ResultSet count = statement.executeQuery("SELECT COUNT(*) FROM t"); count.next(); same(count.getInt(1), 201);
        });
        step("transaction" + options, () -> {
            link.setAutoCommit(false);
            Savepoint savepoint = link.setSavepoint("a");
            same(statement.executeUpdate("DELETE FROM t WHERE id > 1"), 200);
            link.rollback(savepoint); link.rollback(); link.setAutoCommit(true);
            ResultSet count = statement.executeQuery("SELECT COUNT(*) FROM t"); count.next(); same(count.getInt(1), 201);
        });
        step("duplicate key" + options, () -> {
            try { statement.executeUpdate("INSERT INTO t (s) VALUES ('b1')"); throw new AssertionError("no error"); }
            catch (SQLIntegrityConstraintViolationException error) { same(error.getErrorCode(), 1062); same(error.getSQLState(), "23000"); }
        });
        step("metadata" + options, () -> {
            DatabaseMetaData meta = link.getMetaData();
            List<String> columns = new ArrayList<>();
            try (ResultSet rows = meta.getColumns("client_java", null, "t", null)) { while (rows.next()) columns.add(rows.getString("COLUMN_NAME")); }
            same(columns, Arrays.asList("id", "s", "n", "d", "ts", "b", "f", "u"));
            try (ResultSet rows = meta.getPrimaryKeys("client_java", null, "t")) { rows.next(); same(rows.getString("COLUMN_NAME"), "id"); }
            try (ResultSet rows = meta.getIndexInfo("client_java", null, "t", true, false)) { if (!rows.next()) throw new AssertionError("no index"); }
            ResultSetMetaData result = statement.executeQuery("SELECT id, s AS name FROM t LIMIT 1").getMetaData();
            same(result.getColumnLabel(2), "name"); same(result.getColumnType(1), Types.BIGINT); same(result.isAutoIncrement(1), true);
        });
        step("update count" + options, () -> {
            same(statement.executeUpdate("UPDATE t SET n = n + 1 WHERE s LIKE 'b1%'"), 111);
            same(statement.executeUpdate("UPDATE t SET n = n WHERE s = 'b1'"), 1); // Drivers ask for rows found.
        });
        statement.execute("DROP DATABASE client_java");
    }
}
