// Runs operations of the lab through go-sql-driver/mysql. README.md tells the protocol.
//
// An operation is what a program does with database/sql: Query or Exec with arguments, in a Tx where it is a transaction.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

var out = bufio.NewWriter(os.Stdout)

var escapes = strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r")

func say(fields ...any) {
	for place, field := range fields {
		if place > 0 {
			out.WriteByte('\t')
		}
		out.WriteString(escapes.Replace(fmt.Sprint(field)))
	}
	out.WriteByte('\n')
}

func unescape(field string) string {
	if !strings.Contains(field, "\\") {
		return field
	}
	var plain strings.Builder
	for at := 0; at < len(field); at++ {
		if field[at] != '\\' {
			plain.WriteByte(field[at])
			continue
		}
		at++
		switch field[at] {
		case 't':
			plain.WriteByte('\t')
		case 'n':
			plain.WriteByte('\n')
		case 'r':
			plain.WriteByte('\r')
		default:
			plain.WriteByte(field[at])
		}
	}
	return plain.String()
}

// serial stands for a number that was never used before, after for the last one plus a distance.
type serial int64
type after int64

type command struct {
	repeat, parameters int
	sql                string
	isQuery            bool
}

type plan struct {
	words    map[string]string
	session  []string
	commands []command
	values   map[int][][]any
}

func newPlan() *plan {
	return &plan{words: map[string]string{"mode": "auto", "connections": "1"}, values: map[int][][]any{}}
}

func value(field string) (any, error) {
	text := field[1:]
	switch field[0] {
	case 'n':
		return nil, nil
	case 'i', '#', '+':
		number, err := strconv.ParseInt(text, 10, 64)
		switch field[0] {
		case '#':
			return serial(number), err
		case '+':
			return after(number), err
		}
		return number, err
	// database/sql has no decimals: programs pass them as text.
	case 'd', 's':
		return text, nil
	}
	return nil, fmt.Errorf("no value: %s", field)
}

var serials atomic.Int64

type link struct {
	plan                         *plan
	connection                   *sql.Conn
	pool                         *sql.DB
	values                       [][]any
	next                         int
	last                         int64
	operations, statements, rows int64
	errors                       map[uint16]int64
	texts                        map[uint16]string
	service, latency, lag        []int64
	skips                        int64
}

func open(p *plan, number int) (*link, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", p.words["host"]+":"+p.words["port"]
	config.User, config.Passwd, config.DBName = p.words["user"], p.words["password"], p.words["database"]
	config.InterpolateParams = p.words["mode"] == "text"
	if p.words["tls"] == "on" {
		config.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	if p.words["compression"] == "on" {
		if err := config.Apply(mysql.EnableCompression(true)); err != nil {
			return nil, err
		}
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	l := &link{plan: p, pool: sql.OpenDB(connector), values: p.values[number]}
	if l.values == nil {
		l.values = [][]any{{}}
	}
	if l.connection, err = l.pool.Conn(context.Background()); err != nil {
		return nil, err
	}
	for _, text := range p.session {
		if _, err := l.connection.ExecContext(context.Background(), text); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *link) close() {
	if l.connection != nil {
		l.connection.Close()
	}
	l.pool.Close()
}

func (l *link) clear() {
	l.operations, l.statements, l.rows, l.skips = 0, 0, 0, 0
	l.errors, l.texts = map[uint16]int64{}, map[uint16]string{}
	l.service, l.latency, l.lag = nil, nil, nil
}

type runner interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
}

func (l *link) statement(r runner, c *command, values []any) error {
	l.statements++
	arguments := make([]any, len(values))
	for place, value := range values {
		switch value := value.(type) {
		case serial:
			l.last = int64(value) + serials.Add(1) - 1
			arguments[place] = l.last
		case after:
			arguments[place] = l.last + int64(value)
		default:
			arguments[place] = value
		}
	}
	ctx := context.Background()
	// Without arguments the driver sends text unless the program prepares.
	if l.plan.words["mode"] == "prepared" && len(arguments) == 0 {
		prepared, err := r.PrepareContext(ctx, c.sql)
		if err != nil {
			return err
		}
		defer prepared.Close()
		if !c.isQuery {
			_, err = prepared.ExecContext(ctx)
			return err
		}
		rows, err := prepared.QueryContext(ctx)
		return l.read(rows, err)
	}
	if !c.isQuery {
		_, err := r.ExecContext(ctx, c.sql, arguments...)
		return err
	}
	rows, err := r.QueryContext(ctx, c.sql, arguments...)
	return l.read(rows, err)
}

func (l *link) read(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		l.rows++
	}
	return rows.Err()
}

func (l *link) all(r runner) error {
	row, at := l.values[l.next], 0
	if l.next++; l.next == len(l.values) {
		l.next = 0
	}
	for index := range l.plan.commands {
		c := &l.plan.commands[index]
		for range c.repeat {
			if err := l.statement(r, c, row[at:at+c.parameters]); err != nil {
				return err
			}
			at += c.parameters
		}
	}
	return nil
}

// operate runs one operation; false if the server refused a part of it.
func (l *link) operate() (bool, error) {
	var err error
	if l.plan.words["transaction"] == "1" {
		var tx *sql.Tx
		if tx, err = l.connection.BeginTx(context.Background(), nil); err == nil {
			if err = l.all(tx); err == nil {
				err = tx.Commit()
			} else if back := tx.Rollback(); back != nil {
				return false, back
			}
		}
	} else {
		err = l.all(l.connection)
	}
	var refused *mysql.MySQLError
	switch {
	case err == nil:
		l.operations++
		return true, nil
	case errors.As(err, &refused):
		l.errors[refused.Number]++
		l.texts[refused.Number] = refused.Message
		return false, nil
	}
	return false, err
}

type run struct {
	links       []*link
	duration    time.Duration
	most        int64
	pace        time.Duration
	arrivals    []int64
	inFlightMax int
	issued      atomic.Int64
	origin      time.Time
}

func (r *run) closed(l *link) error {
	now := time.Since(r.origin)
	for now < r.duration && r.issued.Add(1) <= r.most {
		isGood, err := l.operate()
		if err != nil {
			return err
		}
		done := time.Since(r.origin)
		if isGood {
			l.service = append(l.service, int64(done-now))
		}
		now = done
	}
	return nil
}

// sleepUntil blocks the thread: timers of the language wait for whole milliseconds.
func (r *run) sleepUntil(due time.Duration) time.Duration {
	now := time.Since(r.origin)
	for now < due {
		left := syscall.NsecToTimespec(int64(due - now))
		_ = syscall.Nanosleep(&left, nil)
		now = time.Since(r.origin)
	}
	return now
}

func (r *run) paced(l *link) error {
	for due := r.pace; due < r.duration && r.issued.Add(1) <= r.most; {
		now := r.sleepUntil(due)
		l.lag = append(l.lag, int64(now-due))
		isGood, err := l.operate()
		if err != nil {
			return err
		}
		done := time.Since(r.origin)
		if isGood {
			l.service = append(l.service, int64(done-now))
		}
		missed := (done - due) / r.pace
		l.skips += int64(missed)
		due += (missed + 1) * r.pace
	}
	return nil
}

func (r *run) open(l *link) error {
	for {
		number := int(r.issued.Add(1) - 1)
		if number >= len(r.arrivals) {
			return nil
		}
		due, now := time.Duration(r.arrivals[number]), time.Since(r.origin)
		if now < due {
			for now < due {
				time.Sleep(due - now)
				now = time.Since(r.origin)
			}
			l.lag = append(l.lag, int64(now-due))
		} else {
			waiting := 1
			for number+waiting < len(r.arrivals) && time.Duration(r.arrivals[number+waiting]) <= now {
				waiting++
			}
			if len(r.links)-1+waiting > max(r.inFlightMax, len(r.links)) {
				l.skips++
				continue
			}
		}
		isGood, err := l.operate()
		if err != nil {
			return err
		}
		if done := time.Since(r.origin); isGood {
			l.service = append(l.service, int64(done-now))
			l.latency = append(l.latency, int64(done-due))
		}
	}
}

func count(into map[int64]int64, numbers []int64) {
	for _, number := range numbers {
		unit := int64(1)
		for left := number; left >= 1000; left /= 10 {
			unit *= 10
		}
		into[number/unit*unit]++
	}
}

func cpu() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func (r *run) go_() error {
	first, cpuBefore := serials.Load(), cpu()
	for _, l := range r.links {
		l.clear()
	}
	var group sync.WaitGroup
	broken := make([]error, len(r.links))
	r.origin = time.Now()
	for place, l := range r.links {
		group.Add(1)
		go func() {
			defer group.Done()
			if r.arrivals == nil && r.pace > 0 {
				broken[place] = r.paced(l)
			} else if r.arrivals == nil {
				broken[place] = r.closed(l)
			} else {
				broken[place] = r.open(l)
			}
		}()
	}
	group.Wait()
	wall := time.Since(r.origin)
	say("ended")
	out.Flush()
	if err := errors.Join(broken...); err != nil {
		return err
	}
	var operations, statements, rows, skips int64
	service, latency, lag := map[int64]int64{}, map[int64]int64{}, map[int64]int64{}
	for _, l := range r.links {
		operations += l.operations
		statements += l.statements
		rows += l.rows
		skips += l.skips
		count(service, l.service)
		count(latency, l.latency)
		count(lag, l.lag)
		for number, times := range l.errors {
			say("error", number, times, l.texts[number])
		}
	}
	say("operations", operations)
	say("statements", statements)
	say("rows", rows)
	say("serials", serials.Load()-first)
	say("wall_ns", int64(wall))
	// Goroutines move between threads: the work is as good as evenly spread.
	say("busiest_ns", (cpu()-cpuBefore)/int64(min(len(r.links), runtime.GOMAXPROCS(0))))
	if r.arrivals != nil {
		say("arrivals", len(r.arrivals))
	}
	if r.arrivals != nil || r.pace > 0 {
		say("skips", skips)
	}
	for name, numbers := range map[string]map[int64]int64{"service": service, "latency": latency, "lag": lag} {
		for number, times := range numbers {
			say(name, number, times)
		}
	}
	say("done")
	out.Flush()
	return nil
}

func driverVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/go-sql-driver/mysql" {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}

func main() {
	say("hello", "go-sql-driver", driverVersion())
	out.Flush()
	p := newPlan()
	var links []*link
	var arrivals []int64
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	integer := func(text string) int64 {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0
		}
		return number
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for place := range f {
			f[place] = unescape(f[place])
		}
		err = nil
		switch f[0] {
		case "session":
			p.session = append(p.session, f[1])
		case "property":
			err = fmt.Errorf("no property %s", f[1])
		case "statement":
			first, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(f[3])), " ")
			isQuery := first == "SELECT" || first == "SHOW" || first == "WITH"
			p.commands = append(p.commands, command{int(integer(f[1])), int(integer(f[2])), f[3], isQuery})
		case "values":
			row := make([]any, len(f)-2)
			for place := range row {
				if row[place], err = value(f[place+2]); err != nil {
					break
				}
			}
			p.values[int(integer(f[1]))] = append(p.values[int(integer(f[1]))], row)
		case "open":
			for number := range int(integer(p.words["connections"])) {
				var l *link
				if l, err = open(p, number); err != nil {
					break
				}
				links = append(links, l)
			}
			if err == nil {
				say("opened")
				out.Flush()
			}
		case "arrivals":
			arrivals = make([]int64, len(f)-1)
			for place := range arrivals {
				arrivals[place] = integer(f[place+1])
			}
		case "run":
			r := &run{links: links}
			serials.Store(integer(f[len(f)-1]))
			if f[1] == "open" {
				r.arrivals, r.inFlightMax = arrivals, int(integer(f[2]))
			} else {
				r.duration, r.most = time.Duration(integer(f[2]))*time.Millisecond, integer(f[3])
				r.pace = time.Duration(integer(p.words["pace"]))
			}
			err = r.go_()
		case "close":
			for _, l := range links {
				l.close()
			}
			p, links = newPlan(), nil
			say("closed")
			out.Flush()
		default:
			p.words[f[0]] = f[1]
		}
		if err != nil {
			for _, l := range links {
				l.close()
			}
			p, links = newPlan(), nil
			var refused *mysql.MySQLError
			if errors.As(err, &refused) {
				say("failed", refused.Number, refused.Message)
			} else {
				say("failed", 0, err)
			}
			out.Flush()
		}
	}
}
