import java.io.*;
import java.lang.management.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs operations of the lab through a JDBC driver of MySQL or MariaDB. README.md tells the protocol.
 *
 * java -cp DRIVER.jar Shim.java
 *
 * An operation is what a framework without a statement pool does: take a statement from the connection, set its
 * parameters, execute it, read all rows, close it. Whether that is prepared at the server is the driver's choice by its properties.
 */
public final class Shim {
    static final class Failed extends Exception {
        Failed(String text) { super(text); }
    }

    record Command(int repeat, int parameters, String sql, boolean isQuery, int batch) {}

    static final class Plan {
        String host, user, password, database, mode = "auto";
        int port, connections = 1;
        boolean tls, compression, transaction;
        long pace;
        final Map<String, String> properties = new LinkedHashMap<>();
        final List<String> session = new ArrayList<>();
        final List<Command> commands = new ArrayList<>();
        final Map<Integer, List<Object[]>> values = new HashMap<>();
    }

    /** Stands for a number that was never used before. */
    record Serial(long start) {}

    /** Stands for the last such number plus a distance. */
    record After(long distance) {}

    static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    static boolean isMariadb;
    static AtomicLong serial = new AtomicLong();

    static String unescape(String field) {
        if (field.indexOf('\\') < 0) return field;
        StringBuilder plain = new StringBuilder();
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c != '\\') { plain.append(c); continue; }
            c = field.charAt(++i);
            plain.append(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
        }
        return plain.toString();
    }

    static String escape(String field) {
        return field.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }

    static void say(Object... fields) {
        StringBuilder line = new StringBuilder();
        for (Object field : fields) line.append(line.length() == 0 ? "" : "\t").append(escape(String.valueOf(field)));
        OUT.println(line);
    }

    static Object value(String field) throws Failed {
        String text = field.substring(1);
        switch (field.charAt(0)) {
            case 'n': return null;
            case 'i': return Long.valueOf(text);
            case 'd': return new BigDecimal(text);
            case 's': return text;
            case '#': return new Serial(Long.parseLong(text));
            case '+': return new After(Long.parseLong(text));
            default: throw new Failed("no value: " + field);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Driver driver = ServiceLoader.load(Driver.class).findFirst().orElseThrow();
        isMariadb = driver.getClass().getName().startsWith("org.mariadb");
        say("hello", isMariadb ? "mariadb-java" : "cj", version(driver));
        OUT.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        Plan plan = new Plan();
        List<Link> links = new ArrayList<>();
        long[] arrivals = new long[0];
        for (String line; (line = in.readLine()) != null; ) {
            String[] f = line.split("\t", -1);
            for (int i = 0; i < f.length; i++) f[i] = unescape(f[i]);
            try {
                switch (f[0]) {
                    case "host": plan.host = f[1]; break;
                    case "port": plan.port = Integer.parseInt(f[1]); break;
                    case "user": plan.user = f[1]; break;
                    case "password": plan.password = f[1]; break;
                    case "database": plan.database = f[1]; break;
                    case "mode": plan.mode = f[1]; break;
                    case "property": plan.properties.put(f[1], f[2]); break;
                    case "tls": plan.tls = f[1].equals("on"); break;
                    case "compression": plan.compression = f[1].equals("on"); break;
                    case "connections": plan.connections = Integer.parseInt(f[1]); break;
                    case "pace": plan.pace = Long.parseLong(f[1]); break;
                    case "session": plan.session.add(f[1]); break;
                    case "transaction": plan.transaction = f[1].equals("1"); break;
                    case "statement":
                        boolean isQuery = f[3].stripLeading().regionMatches(true, 0, "SELECT", 0, 6)
                            || f[3].stripLeading().regionMatches(true, 0, "SHOW", 0, 4)
                            || f[3].stripLeading().regionMatches(true, 0, "WITH", 0, 4);
                        int batch = f.length > 4 ? Integer.parseInt(f[4]) : 0;
                        plan.commands.add(new Command(Integer.parseInt(f[1]), Integer.parseInt(f[2]), f[3], isQuery, batch));
                        break;
                    case "values":
                        Object[] row = new Object[f.length - 2];
                        for (int i = 0; i < row.length; i++) row[i] = value(f[i + 2]);
                        plan.values.computeIfAbsent(Integer.parseInt(f[1]), k -> new ArrayList<>()).add(row);
                        break;
                    case "open":
                        for (int i = 0; i < plan.connections; i++) links.add(new Link(plan, i));
                        say("opened");
                        OUT.flush();
                        break;
                    case "arrivals":
                        arrivals = new long[f.length - 1];
                        for (int i = 0; i < arrivals.length; i++) arrivals[i] = Long.parseLong(f[i + 1]);
                        break;
                    case "run":
                        boolean isOpen = f[1].equals("open");
                        serial.set(Long.parseLong(f[isOpen ? 3 : 4]));
                        if (isOpen) new Run(links, arrivals, Integer.parseInt(f[2])).go();
                        else new Run(links, Long.parseLong(f[2]) * 1_000_000L, Long.parseLong(f[3]), plan.pace).go();
                        break;
                    case "close":
                        shut(links);
                        plan = new Plan();
                        say("closed");
                        OUT.flush();
                        break;
                    default: throw new Failed("unknown command " + f[0]);
                }
            } catch (SQLException error) {
                shut(links);
                plan = new Plan();
                say("failed", error.getErrorCode(), error.getMessage());
                OUT.flush();
            } catch (Failed | RuntimeException error) {
                shut(links);
                plan = new Plan();
                say("failed", 0, error.toString());
                OUT.flush();
            }
        }
        shut(links);
    }

    static String version(Driver driver) {
        String jar = driver.getClass().getPackage().getImplementationVersion();
        return jar != null ? jar : driver.getMajorVersion() + "." + driver.getMinorVersion();
    }

    static void shut(List<Link> links) {
        for (Link link : links) {
            try { link.connection.close(); } catch (SQLException gone) { /* it is gone either way */ }
        }
        links.clear();
    }

    static Connection connect(Plan plan) throws SQLException {
        Properties all = new Properties();
        all.setProperty("user", plan.user);
        all.setProperty("password", plan.password);
        all.setProperty("allowPublicKeyRetrieval", "true");
        all.setProperty("useCompression", String.valueOf(plan.compression));
        if (isMariadb) {
            all.setProperty("sslMode", plan.tls ? "trust" : "disable");
            if (plan.mode.equals("prepared")) all.setProperty("useServerPrepStmts", "true");
            if (plan.mode.equals("text")) all.setProperty("useServerPrepStmts", "false");
        } else {
            all.setProperty("useSSL", String.valueOf(plan.tls));
            all.setProperty("requireSSL", String.valueOf(plan.tls));
            all.setProperty("verifyServerCertificate", "false");
            if (plan.tls) all.setProperty("enabledTLSProtocols", "TLSv1.2");
            all.setProperty("serverTimezone", "UTC");
            if (plan.mode.equals("prepared")) all.setProperty("useServerPrepStmts", "true");
            if (plan.mode.equals("text")) all.setProperty("useServerPrepStmts", "false");
        }
        plan.properties.forEach(all::setProperty);
        String scheme = isMariadb ? "jdbc:mariadb://" : "jdbc:mysql://";
        return DriverManager.getConnection(scheme + plan.host + ":" + plan.port + "/" + plan.database, all);
    }

    /** A connection with its operations. */
    static final class Link {
        final Plan plan;
        final Connection connection;
        final List<Object[]> values;
        int next;
        long operations, statements, rows, last;
        final Map<Integer, Long> errors = new TreeMap<>();
        final Map<Integer, String> texts = new TreeMap<>();

        Link(Plan plan, int number) throws SQLException {
            this.plan = plan;
            connection = connect(plan);
            values = plan.values.getOrDefault(number, List.of(new Object[][] {{}}));
            try (Statement statement = connection.createStatement()) {
                for (String sql : plan.session) statement.execute(sql);
            }
        }

        /** One operation; false if the server refused a part of it. */
        boolean operate() throws SQLException {
            Object[] row = values.get(next);
            next = next + 1 < values.size() ? next + 1 : 0;
            try {
                int at = 0;
                if (plan.transaction) connection.setAutoCommit(false);
                for (Command command : plan.commands) {
                    for (int i = 0; i < command.repeat; i++) at = execute(command, row, at);
                }
                if (plan.transaction) {
                    connection.commit();
                    connection.setAutoCommit(true);
                }
                operations++;
                return true;
            } catch (SQLException error) {
                if (error.getErrorCode() == 0 || connection.isClosed()) throw error;
                errors.merge(error.getErrorCode(), 1L, Long::sum);
                texts.putIfAbsent(error.getErrorCode(), error.getMessage());
                if (plan.transaction) {
                    connection.rollback();
                    connection.setAutoCommit(true);
                }
                return false;
            }
        }

        int execute(Command command, Object[] row, int at) throws SQLException {
            statements++;
            if (command.parameters == 0 && !plan.mode.equals("prepared")) {
                try (Statement statement = connection.createStatement()) {
                    if (command.isQuery) count(statement.executeQuery(command.sql));
                    else statement.executeUpdate(command.sql);
                }
                return at;
            }
            try (PreparedStatement statement = connection.prepareStatement(command.sql)) {
                if (command.batch > 0) {
                    for (int each = 0; each < command.batch; each++) {
                        at = set(statement, command, row, at);
                        statement.addBatch();
                    }
                    statement.executeBatch();
                    return at;
                }
                at = set(statement, command, row, at);
                if (command.isQuery) count(statement.executeQuery());
                else statement.executeUpdate();
            }
            return at;
        }

        /** Sets the parameters of one row; the place of the next value. */
        int set(PreparedStatement statement, Command command, Object[] row, int at) throws SQLException {
            for (int p = 1; p <= command.parameters; p++) {
                Object value = row[at++];
                if (value instanceof String text) statement.setString(p, text);
                else if (value instanceof Long number) statement.setLong(p, number);
                else if (value instanceof Serial unused) statement.setLong(p, last = unused.start + serial.getAndIncrement());
                else if (value instanceof After after) statement.setLong(p, last + after.distance);
                else if (value instanceof BigDecimal decimal) statement.setBigDecimal(p, decimal);
                else statement.setNull(p, Types.VARCHAR);
            }
            return at;
        }

        void count(ResultSet result) throws SQLException {
            try (result) {
                while (result.next()) rows++;
            }
        }
    }

    /** Many numbers, told to three digits. */
    static final class Numbers {
        long[] list = new long[1024];
        int count;

        void add(long number) {
            if (count == list.length) list = Arrays.copyOf(list, count * 2);
            list[count++] = number;
        }

        void put(Map<Long, Long> into) {
            for (int i = 0; i < count; i++) {
                long unit = 1;
                for (long left = list[i]; left >= 1000; left /= 10) unit *= 10;
                into.merge(list[i] / unit * unit, 1L, Long::sum);
            }
        }
    }

    /** One stretch. */
    static final class Run {
        final List<Link> links;
        final long duration, operationsMax, pace;
        final long[] arrivals;
        final int inFlightMax;
        final AtomicLong issued = new AtomicLong();
        final AtomicReference<SQLException> broken = new AtomicReference<>();
        final AtomicLong skips = new AtomicLong(), busiest = new AtomicLong();
        long origin;

        Run(List<Link> links, long duration, long operationsMax, long pace) {
            this(links, duration, operationsMax, pace, null, 0);
        }

        Run(List<Link> links, long[] arrivals, int inFlightMax) {
            this(links, Long.MAX_VALUE, Long.MAX_VALUE, 0, arrivals, inFlightMax);
        }

        private Run(List<Link> links, long duration, long operationsMax, long pace, long[] arrivals, int inFlightMax) {
            this.links = links;
            this.duration = duration;
            this.operationsMax = operationsMax;
            this.pace = pace;
            this.arrivals = arrivals;
            this.inFlightMax = inFlightMax;
        }

        void closed(Link link, Numbers service) throws SQLException {
            long now = System.nanoTime();
            while (now - origin < duration && issued.getAndIncrement() < operationsMax) {
                boolean isGood = link.operate();
                long done = System.nanoTime();
                if (isGood) service.add(done - now);
                now = done;
            }
        }

        void paced(Link link, Numbers service, Numbers lag) throws SQLException {
            long due = origin + pace, missed = 0;
            while (due - origin < duration && issued.getAndIncrement() < operationsMax) {
                long now = System.nanoTime();
                while (now < due) {
                    LockSupport.parkNanos(due - now);
                    now = System.nanoTime();
                }
                lag.add(now - due);
                boolean isGood = link.operate();
                long done = System.nanoTime(), late = (done - due) / pace;
                if (isGood) service.add(done - now);
                missed += late;
                due += (late + 1) * pace;
            }
            skips.addAndGet(missed);
        }

        void open(Link link, Numbers service, Numbers latency, Numbers lag) throws SQLException {
            while (true) {
                long number = issued.getAndIncrement();
                if (number >= arrivals.length) return;
                long due = origin + arrivals[(int) number], now = System.nanoTime();
                if (now < due) {
                    while ((now = System.nanoTime()) < due) LockSupport.parkNanos(due - now);
                    lag.add(now - due);
                } else {
                    int waiting = 1;
                    for (long later = number + 1; later < arrivals.length && origin + arrivals[(int) later] <= now; later++) waiting++;
                    if (links.size() - 1 + waiting > Math.max(inFlightMax, links.size())) {
                        skips.incrementAndGet();
                        continue;
                    }
                }
                boolean isGood = link.operate();
                long done = System.nanoTime();
                if (isGood) {
                    service.add(done - now);
                    latency.add(done - due);
                }
            }
        }

        void go() throws Exception {
            long serialBefore = serial.get();
            List<Thread> threads = new ArrayList<>();
            List<Numbers[]> seen = new ArrayList<>();
            ThreadMXBean clock = ManagementFactory.getThreadMXBean();
            for (Link link : links) {
                link.operations = link.statements = link.rows = 0;
                link.errors.clear();
                link.texts.clear();
                Numbers[] own = {new Numbers(), new Numbers(), new Numbers()};
                seen.add(own);
                threads.add(new Thread(() -> {
                    try {
                        if (arrivals == null && pace > 0) paced(link, own[0], own[2]);
                        else if (arrivals == null) closed(link, own[0]);
                        else open(link, own[0], own[1], own[2]);
                    } catch (SQLException error) {
                        broken.compareAndSet(null, error);
                    }
                    busiest.accumulateAndGet(clock.getCurrentThreadCpuTime(), Math::max);
                }));
            }
            origin = System.nanoTime();
            for (Thread thread : threads) thread.start();
            for (Thread thread : threads) thread.join();
            long wall = System.nanoTime() - origin;
            say("ended");
            OUT.flush();
            if (broken.get() != null) throw broken.get();
            long operations = 0, statements = 0, rows = 0;
            Map<Integer, Long> errors = new TreeMap<>();
            Map<Integer, String> texts = new TreeMap<>();
            for (Link link : links) {
                operations += link.operations;
                statements += link.statements;
                rows += link.rows;
                link.errors.forEach((number, count) -> errors.merge(number, count, Long::sum));
                texts.putAll(link.texts);
            }
            say("operations", operations);
            say("statements", statements);
            say("rows", rows);
            say("serials", serial.get() - serialBefore);
            say("wall_ns", wall);
            say("busiest_ns", busiest.get());
            if (arrivals != null) say("arrivals", arrivals.length);
            if (arrivals != null || pace > 0) say("skips", skips.get());
            String[] names = {"service", "latency", "lag"};
            for (int kind = 0; kind < names.length; kind++) {
                Map<Long, Long> numbers = new TreeMap<>();
                for (Numbers[] own : seen) own[kind].put(numbers);
                String name = names[kind];
                numbers.forEach((number, count) -> say(name, number, count));
            }
            errors.forEach((number, count) -> say("error", number, count, texts.get(number)));
            say("done");
            OUT.flush();
        }
    }
}
