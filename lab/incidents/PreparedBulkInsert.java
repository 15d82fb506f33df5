import java.nio.file.*;
import java.sql.*;
import java.util.*;

/**
 * The first incident: one INSERT of many rows times 24 columns, prepared on the server or sent as text.
 *
 * java -cp connector.jar:. PreparedBulkInsert NAME PORT USER PASSWORD PID ROWS VALUE_BYTES prepared|text REPEATS
 * prints: name rows value_bytes mode median_ms server_cpu_ms_per_statement
 */
public final class PreparedBulkInsert {
    static double cpuSeconds(String pid) throws Exception {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / 100.0;
    }

    public static void main(String[] arguments) throws Exception {
        String name = arguments[0], pid = arguments[4], mode = arguments[7];
        int rows = Integer.parseInt(arguments[5]), bytes = Integer.parseInt(arguments[6]), repeats = Integer.parseInt(arguments[8]);
        String url = "jdbc:mysql://127.0.0.1:" + arguments[1] + "/?user=" + arguments[2] + "&password=" + arguments[3]
            + "&useSSL=false&allowPublicKeyRetrieval=true&serverTimezone=UTC&useServerPrepStmts=" + mode.equals("prepared") + "&cachePrepStmts=true&prepStmtCacheSqlLimit=100000000&maxAllowedPacket=67108864";
        try (Connection link = DriverManager.getConnection(url)) {
            Statement statement = link.createStatement();
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
            PreparedStatement prepared = link.prepareStatement(insert.toString());
            char[] filler = new char[bytes]; Arrays.fill(filler, 'x');
            String value = new String(filler);
            double[] millis = new double[repeats];
            double cpu = 0;
            for (int repeat = -1; repeat < repeats; repeat++) {
                int p = 1;
                for (int r = 0; r < rows; r++) for (int c = 0; c < 24; c++) prepared.setString(p++, value);
                double before = cpuSeconds(pid);
                long start = System.nanoTime();
                prepared.executeUpdate();
                if (repeat >= 0) { millis[repeat] = (System.nanoTime() - start) / 1e6; cpu += cpuSeconds(pid) - before; }
            }
            Arrays.sort(millis);
            System.out.printf("%s %d %d %s %.1f %.1f%n", name, rows, bytes, mode, millis[repeats / 2], 1000 * cpu / repeats);
        }
    }
}
