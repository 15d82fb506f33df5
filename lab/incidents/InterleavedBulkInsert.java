import java.nio.file.*;
import java.sql.*;
import java.util.*;

/**
 * The first incident on one server, its arms in turn: the INSERT of {@link PreparedBulkInsert}, prepared and as text, with the
 * query logs off and on, in blocks that follow each other in an order drawn anew for each round.
 *
 * java -cp connector.jar:. InterleavedBulkInsert PORT USER PASSWORD PID ROWS VALUE_BYTES ROUNDS STATEMENTS_PER_BLOCK SEED
 *
 * A block begins with an empty table and one statement that is not counted. Server CPU is the time on a core of all its
 * threads, in nanoseconds, by the kernel's schedstat.
 *
 * prints a line per block: round mode logs server_cpu_ms_per_statement median_ms
 */
public final class InterleavedBulkInsert {
    static double cpuMillis(String pid) throws Exception {
        long nanos = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
            for (Path thread : threads) {
                try {
                    nanos += Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
                } catch (NoSuchFileException ended) {
                    // A thread that ends takes its time with it: worker threads of a pool, which did nothing meanwhile.
                }
            }
        }
        return nanos / 1e6;
    }

    static PreparedStatement prepare(Connection link, int rows, int bytes) throws SQLException {
        StringBuilder marks = new StringBuilder("("), insert = new StringBuilder("INSERT INTO incident.wide (");
        for (int c = 0; c < 24; c++) {
            insert.append(c == 0 ? "" : ",").append("c").append(c);
            marks.append(c == 0 ? "?" : ",?");
        }
        insert.append(") VALUES ");
        for (int r = 0; r < rows; r++) insert.append(r == 0 ? "" : ",").append(marks).append(")");
        return link.prepareStatement(insert.toString());
    }

    public static void main(String[] arguments) throws Exception {
        String pid = arguments[3];
        int rows = Integer.parseInt(arguments[4]), bytes = Integer.parseInt(arguments[5]);
        int rounds = Integer.parseInt(arguments[6]), count = Integer.parseInt(arguments[7]);
        Random random = new Random(Long.parseLong(arguments[8]));
        String url = "jdbc:mysql://127.0.0.1:" + arguments[0] + "/?user=" + arguments[1] + "&password=" + arguments[2]
            + "&useSSL=false&allowPublicKeyRetrieval=true&serverTimezone=UTC&cachePrepStmts=true&prepStmtCacheSqlLimit=100000000"
            + "&maxAllowedPacket=67108864&useServerPrepStmts=";
        char[] filler = new char[bytes];
        Arrays.fill(filler, 'x');
        String value = new String(filler);
        try (Connection control = DriverManager.getConnection(url + "false")) {
            Statement statement = control.createStatement();
            statement.execute("CREATE DATABASE IF NOT EXISTS incident");
            statement.execute("DROP TABLE IF EXISTS incident.wide");
            StringBuilder create = new StringBuilder("CREATE TABLE incident.wide (id BIGINT AUTO_INCREMENT PRIMARY KEY");
            for (int c = 0; c < 24; c++) create.append(", c").append(c).append(" VARCHAR(").append(Math.max(64, bytes)).append(")");
            statement.execute(create + ") CHARACTER SET latin1");
            // A connection takes long_query_time over when it begins, so each arm has connections of its own.
            List<String[]> arms = new ArrayList<>();
            Map<String, PreparedStatement> prepared = new HashMap<>();
            for (String logs : new String[] {"off", "all"}) {
                PreparedBulkInsert.set(statement, logs);
                for (String mode : new String[] {"prepared", "text"}) {
                    arms.add(new String[] {mode, logs});
                    Connection link = DriverManager.getConnection(url + mode.equals("prepared"));
                    prepared.put(mode + logs, prepare(link, rows, bytes));
                }
            }
            try {
                for (int round = 0; round < rounds; round++) {
                    Collections.shuffle(arms, random);
                    for (String[] arm : arms) {
                        PreparedBulkInsert.set(statement, arm[1]);
                        statement.execute("TRUNCATE TABLE incident.wide");
                        PreparedStatement insert = prepared.get(arm[0] + arm[1]);
                        double before = 0;
                        List<Double> millis = new ArrayList<>();
                        for (int repeat = -1; repeat < count; repeat++) {
                            int p = 1;
                            for (int r = 0; r < rows; r++) for (int c = 0; c < 24; c++) insert.setString(p++, value);
                            if (repeat == 0) before = cpuMillis(pid);
                            long start = System.nanoTime();
                            insert.executeUpdate();
                            if (repeat >= 0) millis.add((System.nanoTime() - start) / 1e6);
                        }
                        double cpu = (cpuMillis(pid) - before) / count;
                        Collections.sort(millis);
                        System.out.printf(Locale.ROOT, "%d %s %s %.4f %.2f%n", round, arm[0], arm[1], cpu, millis.get(count / 2));
                    }
                }
            } finally {
                PreparedBulkInsert.set(statement, "off");
                statement.execute("DROP TABLE incident.wide");
            }
        }
    }
}
