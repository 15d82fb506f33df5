// Runs operations of the lab through mysql2. README.md tells the protocol.
//
// An operation is what a program does with a connection of its own: query() as text, execute() where it is to be prepared.
'use strict';
const mysql = require('mysql2/promise');
const { version } = require('mysql2/package.json');
const readline = require('node:readline');

const ESCAPES = { t: '\t', n: '\n', r: '\r' };
const unescape = (field) => field.replace(/\\(.)/gs, (_, char) => ESCAPES[char] ?? char);
const escape = (field) =>
  String(field).replace(/\\/g, '\\\\').replace(/\t/g, '\\t').replace(/\n/g, '\\n').replace(/\r/g, '\\r');
const lines = [];
const say = (...fields) => lines.push(fields.map(escape).join('\t') + '\n');
const flush = () => process.stdout.write(lines.splice(0).join(''));
const now = () => process.hrtime.bigint();
// Nobody rings it: waiting for it is sleeping.
const BELL = new Int32Array(new SharedArrayBuffer(4));

const newPlan = () => ({
  words: { mode: 'auto', tls: 'off', compression: 'off', connections: '1', transaction: '0', pace: '0' },
  session: [], commands: [], values: new Map(),
});

// A number that was never used before, or the last one plus a distance.
class Serial { constructor(start) { this.start = start; } }
class After { constructor(distance) { this.distance = distance; } }

// Whole numbers beyond 2^53 stay exact as BigInt; decimals are sent as text, as programs do that must not lose digits.
const integer = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));
const READ = {
  n: () => null, i: integer, d: (text) => text, s: (text) => text,
  '#': (text) => new Serial(Number(text)), '+': (text) => new After(Number(text)),
};

class Link {
  static async open(plan, number) {
    const link = new Link();
    const { words } = plan;
    link.plan = plan;
    link.isPrepared = words.mode === 'prepared';
    link.isTransaction = words.transaction === '1';
    link.connection = await mysql.createConnection({
      host: words.host, port: Number(words.port), user: words.user, password: words.password, database: words.database,
      ssl: words.tls === 'on' ? { rejectUnauthorized: false } : undefined, compress: words.compression === 'on',
    });
    link.values = plan.values.get(number) ?? [[]];
    link.next = 0;
    link.last = 0;
    for (const sql of plan.session) await link.connection.query(sql);
    link.clear();
    return link;
  }

  clear() {
    Object.assign(this, { operations: 0, statements: 0, rows: 0, skips: 0, errors: new Map(), service: [], latency: [], lag: [] });
  }

  fill(run, value) {
    if (value instanceof Serial) return (this.last = value.start + run.serial++);
    if (value instanceof After) return this.last + value.distance;
    return value;
  }

  async operate(run) {
    const row = this.values[this.next];
    this.next = this.next + 1 < this.values.length ? this.next + 1 : 0;
    let at = 0;
    try {
      if (this.isTransaction) await this.connection.beginTransaction();
      for (const [repeat, count, sql] of this.plan.commands) {
        for (let i = 0; i < repeat; i++) {
          this.statements++;
          const parameters = row.slice(at, at + count).map((value) => this.fill(run, value));
          at += count;
          const [result] = this.isPrepared
            ? await this.connection.execute(sql, parameters)
            : await this.connection.query(sql, parameters);
          if (Array.isArray(result)) this.rows += result.length;
        }
      }
      if (this.isTransaction) await this.connection.commit();
      this.operations++;
      return true;
    } catch (error) {
      if (!error.errno || error.fatal) throw error;
      const seen = this.errors.get(error.errno) ?? [0, error.sqlMessage];
      seen[0]++;
      this.errors.set(error.errno, seen);
      if (this.isTransaction) await this.connection.rollback();
      return false;
    }
  }
}

class Run {
  constructor(links, serial) { Object.assign(this, { links, serial, first: serial, issued: 0 }); }

  async closed(link) {
    let from = now();
    while (from - this.origin < this.duration && this.issued++ < this.most) {
      const isGood = await link.operate(this);
      const done = now();
      if (isGood) link.service.push(Number(done - from));
      from = done;
    }
  }

  async paced(link) {
    let due = this.origin + this.pace;
    while (due - this.origin < this.duration && this.issued++ < this.most) {
      let from = now();
      while (from < due) {
        const left = Number(due - from) / 1e6;
        // Timers are coarse: with nothing else to do the thread itself sleeps, as other languages' do.
        if (this.links.length === 1) Atomics.wait(BELL, 0, 0, left);
        else await (left > 2 ? new Promise((done) => setTimeout(done, left - 1)) : new Promise(setImmediate));
        from = now();
      }
      link.lag.push(Number(from - due));
      const isGood = await link.operate(this);
      const done = now();
      if (isGood) link.service.push(Number(done - from));
      const missed = (done - due) / this.pace;
      link.skips += Number(missed);
      due += (missed + 1n) * this.pace;
    }
  }

  async open(link) {
    for (;;) {
      const number = this.issued++;
      if (number >= this.arrivals.length) return;
      const due = this.origin + this.arrivals[number];
      let from = now();
      if (from < due) {
        // Timers are coarse: the last millisecond goes through the event loop.
        while (from < due) {
          const left = Number(due - from) / 1e6;
          await (left > 2 ? new Promise((done) => setTimeout(done, left - 1)) : new Promise(setImmediate));
          from = now();
        }
        link.lag.push(Number(from - due));
      } else {
        let waiting = 1;
        while (number + waiting < this.arrivals.length && this.origin + this.arrivals[number + waiting] <= from) waiting++;
        if (this.links.length - 1 + waiting > Math.max(this.inFlightMax, this.links.length)) {
          link.skips++;
          continue;
        }
      }
      const isGood = await link.operate(this);
      const done = now();
      if (isGood) {
        link.service.push(Number(done - from));
        link.latency.push(Number(done - due));
      }
    }
  }

  async go() {
    for (const link of this.links) link.clear();
    this.origin = now();
    await Promise.all(this.links.map((link) => (this.arrivals ? this.open(link) : this.pace > 0n ? this.paced(link) : this.closed(link))));
    const wall = now() - this.origin;
    say('ended');
    flush();
    for (const name of ['operations', 'statements', 'rows']) say(name, this.links.reduce((sum, link) => sum + link[name], 0));
    say('serials', this.serial - this.first);
    say('wall_ns', wall);
    if (this.arrivals) say('arrivals', this.arrivals.length);
    if (this.arrivals || this.pace > 0n) say('skips', this.links.reduce((sum, link) => sum + link.skips, 0));
    for (const name of ['service', 'latency', 'lag']) {
      const counts = new Map();
      for (const link of this.links) {
        for (const number of link[name]) {
          const unit = 10 ** Math.max(0, String(number).length - 3);
          const short = Math.floor(number / unit) * unit;
          counts.set(short, (counts.get(short) ?? 0) + 1);
        }
      }
      for (const [number, count] of [...counts].sort((a, b) => a[0] - b[0])) say(name, number, count);
    }
    for (const link of this.links) for (const [number, [count, text]] of link.errors) say('error', number, count, text);
    say('done');
    flush();
  }
}

async function main() {
  say('hello', 'mysql2', version);
  flush();
  let plan = newPlan();
  let links = [];
  let arrivals = null;
  for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const fields = line.split('\t').map(unescape);
    try {
      switch (fields[0]) {
        case 'session': plan.session.push(fields[1]); break;
        case 'property': throw new Error(`no property ${fields[1]}`);
        case 'statement': plan.commands.push([Number(fields[1]), Number(fields[2]), fields[3]]); break;
        case 'values': {
          const number = Number(fields[1]);
          if (!plan.values.has(number)) plan.values.set(number, []);
          plan.values.get(number).push(fields.slice(2).map((field) => READ[field[0]](field.slice(1))));
          break;
        }
        case 'open':
          for (let number = 0; number < Number(plan.words.connections); number++) links.push(await Link.open(plan, number));
          say('opened');
          flush();
          break;
        case 'arrivals': arrivals = fields.slice(1).map(BigInt); break;
        case 'run': {
          const run = new Run(links, Number(fields.at(-1)));
          if (fields[1] === 'open') Object.assign(run, { arrivals, inFlightMax: Number(fields[2]) });
          else Object.assign(run, { duration: BigInt(fields[2]) * 1_000_000n, most: Number(fields[3]), pace: BigInt(plan.words.pace) });
          await run.go();
          break;
        }
        case 'close':
          for (const link of links) await link.connection.end();
          [plan, links] = [newPlan(), []];
          say('closed');
          flush();
          break;
        default: plan.words[fields[0]] = fields[1];
      }
    } catch (error) {
      for (const link of links) link.connection.destroy();
      [plan, links] = [newPlan(), []];
      say('failed', error.errno > 0 ? error.errno : 0, error.sqlMessage ?? `${error}`);
      flush();
    }
  }
}

main();
