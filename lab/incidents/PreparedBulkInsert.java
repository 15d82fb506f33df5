import java.nio.file.*;
import java.sql.*;
import java.util.*;

/**
 * The first incident: one INSERT of many rows times 24 columns, prepared on the server or sent as text.
 *
 * java -cp connector.jar:. PreparedBulkInsert PORT USER PASSWORD PID ROWS VALUE_BYTES prepared|text off|slow|all CPU_MS REPEATS_MIN
 *
 * Logs: off; slow: the slow log is on and no statement is slow; all: general log, and slow log with long_query_time=0.
 * The statement is repeated until the server has used CPU_MS, and REPEATS_MIN times at least; the first three repeats are
 * not counted. Server CPU is the process's user and system time, read once before and once after, so that its unit (a
 * clock tick, 10 ms) does not matter.
 *
 * prints: repeats median_ms server_cpu_ms_per_statement
 */
public final class PreparedBulkInsert {
    static final int WARM_UP = 3;
    static final int WALL_SECONDS_MAX = 60;

    static double cpuMillis(String pid) throws Exception {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * 10.0;
    }

    static void set(Statement statement, String logs) throws SQLException {
        statement.execute("SET GLOBAL general_log = " + (logs.equals("all") ? "ON" : "OFF"));
        statement.execute("SET GLOBAL slow_query_log = " + (logs.equals("off") ? "OFF" : "ON"));
        statement.execute("SET GLOBAL long_query_time = " + (logs.equals("all") ? "0" : "10"));
    }

    public static void main(String[] arguments) throws Exception {
        String pid = arguments[3], mode = arguments[6], logs = arguments[7];
        int rows = Integer.parseInt(arguments[4]), bytes = Integer.parseInt(arguments[5]);
        double cpuWanted = Double.parseDouble(arguments[8]);
        int repeatsMin = Integer.parseInt(arguments[9]);
        String url = "jdbc:mysql://127.0.0.1:" + arguments[0] + "/?user=" + arguments[1] + "&password=" + arguments[2]
            + "&useSSL=false&allowPublicKeyRetrieval=true&serverTimezone=UTC&useServerPrepStmts=" + mode.equals("prepared")
            + "&cachePrepStmts=true&prepStmtCacheSqlLimit=100000000&maxAllowedPacket=67108864";
        try (Connection control = DriverManager.getConnection(url)) {
            Statement statement = control.createStatement();
            statement.execute("CREATE DATABASE IF NOT EXISTS incident");
            statement.execute("DROP TABLE IF EXISTS incident.wide");
            StringBuilder create = new StringBuilder("CREATE TABLE incident.wide (id BIGINT AUTO_INCREMENT PRIMARY KEY");
            StringBuilder names = new StringBuilder(), marks = new StringBuilder("(");
            for (int c = 0; c < 24; c++) {
                create.append(", c").append(c).append(" VARCHAR(").append(Math.max(64, bytes)).append(")");
                names.append(c == 0 ? "" : ",").append("c").append(c);
                marks.append(c == 0 ? "?" : ",?");
            }
            statement.execute(create + ") CHARACTER SET latin1");
            marks.append(")");
            StringBuilder insert = new StringBuilder("INSERT INTO incident.wide (" + names + ") VALUES ");
            for (int r = 0; r < rows; r++) insert.append(r == 0 ? "" : ",").append(marks);
            char[] filler = new char[bytes];
            Arrays.fill(filler, 'x');
            String value = new String(filler);
            set(statement, logs);
            // A connection takes long_query_time over when it begins.
            try (Connection link = DriverManager.getConnection(url)) {
                PreparedStatement prepared = link.prepareStatement(insert.toString());
                List<Double> millis = new ArrayList<>();
                double cpuBefore = 0, cpu = 0;
                long begin = System.nanoTime();
                for (int repeat = -WARM_UP; repeat < repeatsMin || cpu < cpuWanted; repeat++) {
                    if ((System.nanoTime() - begin) / 1e9 > WALL_SECONDS_MAX && repeat > 0) break;
                    if (repeat == 0) cpuBefore = cpuMillis(pid);
                    int p = 1;
                    for (int r = 0; r < rows; r++) for (int c = 0; c < 24; c++) prepared.setString(p++, value);
                    long start = System.nanoTime();
                    prepared.executeUpdate();
                    if (repeat < 0) continue;
                    millis.add((System.nanoTime() - start) / 1e6);
                    cpu = cpuMillis(pid) - cpuBefore;
                }
                Collections.sort(millis);
                System.out.printf(Locale.ROOT, "%d %.2f %.3f%n", millis.size(), millis.get(millis.size() / 2), cpu / millis.size());
            } finally {
                set(statement, "off");
                statement.execute("DROP TABLE incident.wide");
            }
        }
    }
}
