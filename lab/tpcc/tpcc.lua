-- TPC-C for sysbench 1.0, written from the TPC-C Standard Specification, revision 5.11.
--
--   sysbench lab/tpcc/tpcc.lua --mysql-... --mysql-db=tpcc [--threads=2] [--warehouses=10] [--foreign_keys=on] COMMAND
--
--   prepare   makes the nine tables (clause 1.3) and fills them (clause 4.3.3); threads share the warehouses
--   run       the five transactions (clauses 2.4 to 2.8), their mix dealt from a shuffled deck (clause 5.2.4.2)
--   check     the twelve consistency conditions (clause 3.3.2); ends in an error if one does not hold
--   cleanup   drops the tables
--
-- What is not the specification's: there are no keying and think times and no terminals, so every thread takes a home
-- warehouse anew for each transaction; a delivery is carried out at once instead of from a queue. So `tpmC` here compares
-- servers on one machine and is not the benchmark's metric.
--
-- A transaction that met a deadlock (1213) or a lock wait timeout (1205) is rolled back and tried again with the same input;
-- its latency counts from the first try. Each thread ends by printing its counts in lines `tpcc KIND ...`, which run.py adds up.

local ffi = require("ffi")
local bit = require("bit")

pcall(ffi.cdef, [[
typedef struct { long seconds, nanoseconds; } tpcc_moment;
int clock_gettime(int clock, tpcc_moment *now);
]])

sysbench.cmdline.options = {
   warehouses = { "Number of warehouses", 10 },
   customers = { "Customers, and so orders, of each district (the specification: 3000)", 3000 },
   items = { "Items, and so stock of each warehouse (the specification: 100000)", 100000 },
   foreign_keys = { "Declare the foreign keys of clause 1.3", false },
   isolation = { "Isolation level of the sessions, for instance READ COMMITTED (empty: the server's)", "" },
   delivered = { "Orders delivered since `prepare`, for condition 11 (empty: not known)", "" },
}

local DISTRICTS = 10 -- of each warehouse
local ROWS_PER_INSERT = 250

local uniform = function(least, most) return sysbench.rand.uniform(least, most) end
local format, concat, floor = string.format, table.concat, math.floor

------------------------------------------------------------------------------------------------------------------------
-- Random values: clause 4.3.2 (strings, names) and 2.1.6 (NURand).

local LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
local POOL_BYTES = 65536
local pool

-- A text of `least` to `most` random letters and digits: a piece of a long random text, which is cheaper than drawing each.
local function letters(least, most)
   if not pool then
      local drawn = {}
      for place = 1, POOL_BYTES do
         local letter = uniform(1, #LETTERS)
         drawn[place] = LETTERS:sub(letter, letter)
      end
      pool = concat(drawn)
   end
   local length = uniform(least, most)
   local start = uniform(1, POOL_BYTES - length)
   return pool:sub(start, start + length - 1)
end

local function digits(count)
   return format("%0" .. count .. "d", uniform(0, 10 ^ count - 1))
end

local function zip() return digits(4) .. "11111" end

-- Data of items and stock: one in ten holds the word ORIGINAL.
local function original_or_not()
   local text = letters(26, 50)
   if uniform(1, 10) == 1 then
      local at = uniform(0, #text - 8)
      text = text:sub(1, at) .. "ORIGINAL" .. text:sub(at + 9)
   end
   return text
end

local SYLLABLES = { [0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }
local function last_name(number)
   return SYLLABLES[floor(number / 100)] .. SYLLABLES[floor(number / 10) % 10] .. SYLLABLES[number % 10]
end

-- Constants of clause 2.1.6: those of the run differ from those of the load by a distance that 2.1.6.1 allows for C_LAST.
local C_LAST_LOAD, C_LAST_RUN, C_CUSTOMER, C_ITEM = 100, 187, 259, 7911
do
   local distance = C_LAST_RUN - C_LAST_LOAD
   assert(distance >= 65 and distance <= 119 and distance ~= 96 and distance ~= 112)
end

local function nurand(a, c, least, most)
   return (bit.bor(uniform(0, a), uniform(least, most)) + c) % (most - least + 1) + least
end

local function names() return math.min(1000, sysbench.opt.customers) end -- how many last names a district has
local function some_name() return last_name(nurand(255, C_LAST_RUN, 0, names() - 1)) end
local function some_customer() return nurand(1023, C_CUSTOMER, 1, sysbench.opt.customers) end
local function some_item() return nurand(8191, C_ITEM, 1, sysbench.opt.items) end

------------------------------------------------------------------------------------------------------------------------
-- Tables: clause 1.3.

local TABLES = { "item", "warehouse", "district", "customer", "history", "stock", "orders", "new_order", "order_line" }

local COLUMNS = {
   item = [[i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id)]],
   warehouse = [[w_id SMALLINT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20),
      w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)]],
   district = [[d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20),
      d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2),
      d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)]],
   customer = [[c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2),
      c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9),
      c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4),
      c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT,
      c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id), KEY by_name (c_w_id, c_d_id, c_last, c_first)]],
   history = [[h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME,
      h_amount DECIMAL(6,2), h_data VARCHAR(24)]],
   stock = [[s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24),
      s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24),
      s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, s_remote_cnt SMALLINT,
      s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)]],
   orders = [[o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, o_entry_d DATETIME,
      o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id),
      KEY by_customer (o_w_id, o_d_id, o_c_id, o_id)]],
   new_order = [[no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL,
      PRIMARY KEY (no_w_id, no_d_id, no_o_id)]],
   order_line = [[ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, ol_number TINYINT NOT NULL,
      ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2),
      ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)]],
}

local REFERENCES = {
   district = { "(d_w_id) REFERENCES warehouse (w_id)" },
   customer = { "(c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)" },
   history = { "(h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
      "(h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)" },
   stock = { "(s_w_id) REFERENCES warehouse (w_id)", "(s_i_id) REFERENCES item (i_id)" },
   orders = { "(o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)" },
   new_order = { "(no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)" },
   order_line = { "(ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
      "(ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)" },
}

local con

local function connect()
   con = sysbench.sql.driver():connect()
   if sysbench.opt.isolation ~= "" then
      con:query("SET SESSION TRANSACTION ISOLATION LEVEL " .. sysbench.opt.isolation)
   end
end

local function make_tables()
   for _, name in ipairs(TABLES) do
      local text = "CREATE TABLE IF NOT EXISTS " .. name .. " (" .. COLUMNS[name]
      if sysbench.opt.foreign_keys then
         for _, reference in ipairs(REFERENCES[name] or {}) do text = text .. ", FOREIGN KEY " .. reference end
      end
      con:query(text .. ") ENGINE=InnoDB")
   end
end

------------------------------------------------------------------------------------------------------------------------
-- Filling: clause 4.3.3.1. Rows are gathered into statements of many.

local waiting = {}

local function flush(name)
   local rows = waiting[name]
   if rows and #rows > 0 then con:query("INSERT INTO " .. name .. " VALUES " .. concat(rows, ",")) end
   waiting[name] = {}
end

local function add(name, pattern, ...)
   local rows = waiting[name] or {}
   waiting[name] = rows
   rows[#rows + 1] = format(pattern, ...)
   if #rows >= ROWS_PER_INSERT then flush(name) end
end

local function add_items()
   for item = 1, sysbench.opt.items do
      add("item", "(%d,%d,'%s',%.2f,'%s')", item, uniform(1, 10000), letters(14, 24), uniform(100, 10000) / 100, original_or_not())
   end
   flush("item")
end

local function address() -- two streets, city, state, zip
   return format("'%s','%s','%s','%s','%s'", letters(10, 20), letters(10, 20), letters(10, 20), letters(2, 2), zip())
end

local function add_stock(warehouse)
   for item = 1, sysbench.opt.items do
      local parts = {}
      for district = 1, DISTRICTS do parts[district] = "'" .. letters(24, 24) .. "'" end
      add("stock", "(%d,%d,%d,%s,0,0,0,'%s')", item, warehouse, uniform(10, 100), concat(parts, ","), original_or_not())
   end
   flush("stock")
end

local function add_customers(warehouse, district)
   for customer = 1, sysbench.opt.customers do
      local name = customer <= 1000 and customer - 1 or nurand(255, C_LAST_LOAD, 0, 999)
      add("customer", "(%d,%d,%d,'%s','OE','%s',%s,'%s',NOW(),'%s',50000,%.4f,-10,10,1,0,'%s')", customer, district, warehouse,
         letters(8, 16), last_name(name), address(), digits(8) .. digits(8), uniform(1, 10) == 1 and "BC" or "GC",
         uniform(0, 5000) / 10000, letters(300, 500))
      add("history", "(%d,%d,%d,%d,%d,NOW(),10,'%s')", customer, district, warehouse, district, warehouse, letters(12, 24))
   end
   flush("customer")
   flush("history")
end

local function add_orders(warehouse, district)
   local count = sysbench.opt.customers
   local first_open = floor(count * 0.7) + 1 -- the last 900 of 3000 are not delivered yet
   local customers = {}
   for customer = 1, count do customers[customer] = customer end
   for place = count, 2, -1 do
      local other = uniform(1, place)
      customers[place], customers[other] = customers[other], customers[place]
   end
   for order = 1, count do
      local lines, open = uniform(5, 15), order >= first_open
      add("orders", "(%d,%d,%d,%d,NOW(),%s,%d,1)", order, district, warehouse, customers[order], open and "NULL" or uniform(1, 10), lines)
      if open then add("new_order", "(%d,%d,%d)", order, district, warehouse) end
      for line = 1, lines do
         add("order_line", "(%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s')", order, district, warehouse, line, uniform(1, sysbench.opt.items),
            warehouse, open and "NULL" or "NOW()", open and uniform(1, 999999) / 100 or 0, letters(24, 24))
      end
   end
   flush("orders")
   flush("new_order")
   flush("order_line")
end

local function add_warehouse(warehouse)
   local ytd = sysbench.opt.customers * 10
   add("warehouse", "(%d,'%s',%s,%.4f,%d)", warehouse, letters(6, 10), address(), uniform(0, 2000) / 10000, ytd * DISTRICTS)
   flush("warehouse")
   add_stock(warehouse)
   for district = 1, DISTRICTS do
      add("district", "(%d,%d,'%s',%s,%.4f,%d,%d)", district, warehouse, letters(6, 10), address(), uniform(0, 2000) / 10000,
         ytd, sysbench.opt.customers + 1)
   end
   flush("district")
   for district = 1, DISTRICTS do
      add_customers(warehouse, district)
      add_orders(warehouse, district)
   end
end

local function prepare()
   connect()
   make_tables()
   -- Threads fill side by side, items beside the first stock: whole at the end, not meanwhile.
   con:query("SET SESSION foreign_key_checks = 0")
   local tid, threads = sysbench.tid % sysbench.opt.threads, sysbench.opt.threads
   if tid == 0 then add_items() end
   for warehouse = tid + 1, sysbench.opt.warehouses, threads do add_warehouse(warehouse) end
end

local function cleanup()
   connect()
   for place = #TABLES, 1, -1 do con:query("DROP TABLE IF EXISTS " .. TABLES[place]) end
end

------------------------------------------------------------------------------------------------------------------------
-- Statements

local function ask(pattern, ...) return con:query(format(pattern, ...)) end

-- The values of the only row, or nothing if there is none.
local function row(pattern, ...)
   local found = con:query(format(pattern, ...))
   if found.nrows == 0 then
      found:free()
      return nil
   end
   local values = found:fetch_row()
   local count = found.nfields
   found:free()
   return unpack(values, 1, count)
end

-- The first column of all rows.
local function column(pattern, ...)
   local found, values = con:query(format(pattern, ...)), {}
   for place = 1, found.nrows do values[place] = found:fetch_row()[1] end
   found:free()
   return values
end

-- A customer by last name: the one in the middle of all of that name, ordered by first name (clause 2.5.2.2).
local function customer_by_name(warehouse, district, name)
   local found = column("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first",
      warehouse, district, name)
   assert(#found > 0, "no customer of the name " .. name)
   return tonumber(found[floor((#found + 1) / 2)])
end

------------------------------------------------------------------------------------------------------------------------
-- The five transactions. Each `KIND.input` draws what a terminal would enter, each `KIND.work` carries it out between BEGIN
-- and COMMIT; a result of false rolls it back (the new orders with an unused item).

local function other_warehouse(home)
   if sysbench.opt.warehouses == 1 then return home end
   local other = uniform(1, sysbench.opt.warehouses - 1)
   return other >= home and other + 1 or other
end

local function by_name_or_number(input) -- 60 of 100 customers are asked for by last name
   if uniform(1, 100) <= 60 then input.name = some_name() else input.customer = some_customer() end
   return input
end

local new_order = {}

function new_order.input()
   local input = { warehouse = uniform(1, sysbench.opt.warehouses), district = uniform(1, DISTRICTS), customer = some_customer(),
      lines = {}, local_only = 1 }
   local count, wrong = uniform(5, 15), uniform(1, 100) == 1
   for line = 1, count do
      local supplier = input.warehouse
      if uniform(1, 100) == 1 then supplier = other_warehouse(supplier) end
      if supplier ~= input.warehouse then input.local_only = 0 end
      -- An unused number in the last line: what was done for the others has to be taken back (clause 2.4.1.5).
      local item = wrong and line == count and sysbench.opt.items + 1 or some_item()
      input.lines[line] = { item = item, supplier = supplier, quantity = uniform(1, 10) }
   end
   return input
end

function new_order.work(input)
   local w, d = input.warehouse, input.district
   local discount, _, _, w_tax = row([[SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
      WHERE w_id = %d AND c_w_id = w_id AND c_d_id = %d AND c_id = %d]], w, d, input.customer)
   local order, d_tax = row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)
   ask("UPDATE district SET d_next_o_id = %d + 1 WHERE d_w_id = %d AND d_id = %d", order, w, d)
   ask("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (%d, %d, %d, %d, NOW(), %d, %d)",
      order, d, w, input.customer, #input.lines, input.local_only)
   ask("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (%d, %d, %d)", order, d, w)
   local total = 0
   for number, line in ipairs(input.lines) do
      local price = row("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", line.item)
      if not price then return false end
      local quantity, _, dist = row("SELECT s_quantity, s_data, s_dist_%02d FROM stock WHERE s_i_id = %d AND s_w_id = %d FOR UPDATE",
         d, line.item, line.supplier)
      quantity = tonumber(quantity) - line.quantity
      if quantity < 10 then quantity = quantity + 91 end
      ask([[UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d
         WHERE s_i_id = %d AND s_w_id = %d]], quantity, line.quantity, line.supplier == w and 0 or 1, line.item, line.supplier)
      local amount = line.quantity * price
      total = total + amount
      ask([[INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
         VALUES (%d, %d, %d, %d, %d, %d, %d, %.2f, '%s')]], order, d, w, number, line.item, line.supplier, line.quantity, amount, dist)
   end
   total = total * (1 - discount) * (1 + w_tax + d_tax) -- what the terminal would show
   return total >= 0
end

local payment = {}

function payment.input()
   local home = uniform(1, sysbench.opt.warehouses)
   local input = { warehouse = home, district = uniform(1, DISTRICTS), amount = uniform(100, 500000) / 100 }
   input.c_warehouse, input.c_district = home, input.district
   if uniform(1, 100) <= 15 then
      input.c_warehouse, input.c_district = other_warehouse(home), uniform(1, DISTRICTS)
   end
   return by_name_or_number(input)
end

function payment.work(input)
   local w, d, cw, cd = input.warehouse, input.district, input.c_warehouse, input.c_district
   ask("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", input.amount, w)
   local w_name = row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", w)
   ask("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", input.amount, w, d)
   local d_name = row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
   local customer = input.customer or customer_by_name(cw, cd, input.name)
   local credit, data = row([[SELECT c_credit, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
      c_phone, c_since, c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE]],
      cw, cd, customer)
   if credit == "BC" then
      data = format("%d %d %d %d %d %.2f|%s", customer, cd, cw, d, w, input.amount, data):sub(1, 500)
      ask([[UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1,
         c_data = '%s' WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]], input.amount, input.amount, data, cw, cd, customer)
   else
      ask([[UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1
         WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]], input.amount, input.amount, cw, cd, customer)
   end
   ask("INSERT INTO history VALUES (%d, %d, %d, %d, %d, NOW(), %.2f, '%s    %s')", customer, cd, cw, d, w, input.amount, w_name, d_name)
end

local order_status = {}

function order_status.input()
   return by_name_or_number({ warehouse = uniform(1, sysbench.opt.warehouses), district = uniform(1, DISTRICTS) })
end

function order_status.work(input)
   local w, d = input.warehouse, input.district
   local customer = input.customer or customer_by_name(w, d, input.name)
   row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, customer)
   local order = row([[SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d
      ORDER BY o_id DESC LIMIT 1]], w, d, customer)
   if order then
      local lines = column([[SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
         WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d]], w, d, order)
      assert(#lines >= 5 and #lines <= 15, "an order of " .. #lines .. " lines was seen")
   end
end

local delivery = { delivered = 0 }

function delivery.input()
   return { warehouse = uniform(1, sysbench.opt.warehouses), carrier = uniform(1, 10) }
end

-- Each district's oldest open order. What a step reads it has changed before, so it sees the newest version whatever the
-- isolation level: the lock on the row of new_order keeps others away from the order.
function delivery.work(input)
   local w, count = input.warehouse, 0
   for d = 1, DISTRICTS do
      local order = row("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE", w, d)
      if order then
         ask("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, order)
         ask("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", input.carrier, w, d, order)
         local customer = row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, order)
         ask("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, order)
         local sum = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, order)
         ask([[UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]], sum, w, d, customer)
         count = count + 1
      end
   end
   delivery.pending = count
end

function delivery.committed() delivery.delivered = delivery.delivered + delivery.pending end

local stock_level = {}

function stock_level.input()
   return { warehouse = uniform(1, sysbench.opt.warehouses), district = uniform(1, DISTRICTS), threshold = uniform(10, 20) }
end

function stock_level.work(input)
   local w, d = input.warehouse, input.district
   local next_order = row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
   row([[SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d
      AND ol_o_id >= %d - 20 AND s_w_id = %d AND s_i_id = ol_i_id AND s_quantity < %d]], w, d, next_order, next_order, w, input.threshold)
end

------------------------------------------------------------------------------------------------------------------------
-- Running them

local KINDS = { "new_order", "payment", "order_status", "delivery", "stock_level" }
local WORK = { new_order = new_order, payment = payment, order_status = order_status, delivery = delivery, stock_level = stock_level }
-- Clause 5.2.4.2: ten new orders, ten payments and one each of the others make a deck.
local DECK = {}
for kind, count in pairs({ new_order = 10, payment = 10, order_status = 1, delivery = 1, stock_level = 1 }) do
   for _ = 1, count do DECK[#DECK + 1] = kind end
end
table.sort(DECK)

local dealt = {}
local tally -- by kind: committed, rolled_back, errors by number, latencies by bucket
local moment = ffi.new("tpcc_moment")

local function now_us()
   ffi.C.clock_gettime(1, moment)
   return tonumber(moment.seconds) * 1e6 + tonumber(moment.nanoseconds) / 1e3
end

local function deal()
   if #dealt == 0 then
      for place, kind in ipairs(DECK) do dealt[place] = kind end
      for place = #dealt, 2, -1 do
         local other = uniform(1, place)
         dealt[place], dealt[other] = dealt[other], dealt[place]
      end
   end
   return table.remove(dealt)
end

function thread_init()
   connect()
   tally = {}
   for _, kind in ipairs(KINDS) do tally[kind] = { committed = 0, rolled_back = 0, errors = {}, latencies = {} } end
end

local function attempt(kind, input)
   con:query("BEGIN")
   local result = WORK[kind].work(input)
   con:query(result == false and "ROLLBACK" or "COMMIT")
   return result ~= false
end

function event()
   local kind = deal()
   local counts, input, started = tally[kind], WORK[kind].input(), now_us()
   while true do
      local done, result = pcall(attempt, kind, input)
      if done then
         if result then counts.committed = counts.committed + 1 else counts.rolled_back = counts.rolled_back + 1 end
         if result and WORK[kind].committed then WORK[kind].committed() end
         break
      end
      -- sysbench marks the errors of --mysql-ignore-errors (1213, 1020, 1205) as such that may be tried again.
      if type(result) ~= "table" or result.errcode ~= sysbench.error.RESTART_EVENT then error(result, 0) end
      local number = tonumber(result.sql_errno)
      counts.errors[number] = (counts.errors[number] or 0) + 1
      con:query("ROLLBACK")
   end
   -- Buckets grow by 5 %: bucket n holds what took from 1.05^n to 1.05^(n+1) us.
   local bucket = floor(math.log(math.max(now_us() - started, 1)) / math.log(1.05))
   counts.latencies[bucket] = (counts.latencies[bucket] or 0) + 1
end

local function pairs_text(map)
   local parts = {}
   for key, value in pairs(map) do parts[#parts + 1] = format("%d:%d", key, value) end
   return #parts > 0 and concat(parts, ",") or "-"
end

function thread_done()
   for _, kind in ipairs(KINDS) do
      local counts = tally[kind]
      io.write(format("tpcc %s committed=%d rolled_back=%d errors=%s latencies=%s\n", kind, counts.committed, counts.rolled_back,
         pairs_text(counts.errors), pairs_text(counts.latencies)))
   end
   io.write(format("tpcc delivered orders=%d\n", delivery.delivered))
   con:disconnect()
end

------------------------------------------------------------------------------------------------------------------------
-- Consistency: clause 3.3.2.1 to 3.3.2.12. Each query counts what is wrong in warehouse %d; all are to be 0.

local SUM_DELIVERED = [[(SELECT o_c_id, o_d_id, SUM(ol_amount) AS delivered FROM orders JOIN order_line ON ol_w_id = o_w_id AND
   ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = %1$d AND ol_delivery_d IS NOT NULL GROUP BY o_d_id, o_c_id) AS gone]]
local SUM_PAID = [[(SELECT h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history WHERE h_c_w_id = %1$d GROUP BY h_c_d_id, h_c_id) AS paid]]

local CONDITIONS = {
   { "W_YTD is the sum of D_YTD", [[SELECT COUNT(*) FROM warehouse WHERE w_id = %1$d AND
      w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)]] },
   { "D_NEXT_O_ID - 1 is the greatest O_ID and NO_O_ID", [[SELECT COUNT(*) FROM district WHERE d_w_id = %1$d AND
      (d_next_o_id - 1 <> (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) OR
      d_next_o_id - 1 <> (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id))]] },
   { "open orders of a district have no gaps", [[SELECT COUNT(*) FROM (SELECT no_d_id FROM new_order WHERE no_w_id = %1$d GROUP BY no_d_id
      HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS gaps]] },
   { "the sum of O_OL_CNT is the number of lines", [[SELECT COUNT(*) FROM district WHERE d_w_id = %1$d AND
      (SELECT SUM(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) <>
      (SELECT COUNT(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)]] },
   { "O_CARRIER_ID is null if and only if the order is open", [[SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND
      no_d_id = o_d_id AND no_o_id = o_id WHERE o_w_id = %1$d AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)]] },
   { "O_OL_CNT is the number of the order's lines", [[SELECT COUNT(*) FROM orders LEFT JOIN (SELECT ol_d_id, ol_o_id, COUNT(*) AS found
      FROM order_line WHERE ol_w_id = %1$d GROUP BY ol_d_id, ol_o_id) AS line ON ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE o_w_id = %1$d AND NOT (o_ol_cnt <=> found)]] },
   { "OL_DELIVERY_D is null if and only if O_CARRIER_ID is", [[SELECT COUNT(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND
      o_d_id = ol_d_id AND o_id = ol_o_id WHERE ol_w_id = %1$d AND (o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL))]] },
   { "W_YTD is the sum of H_AMOUNT", [[SELECT COUNT(*) FROM warehouse WHERE w_id = %1$d AND
      w_ytd <> (SELECT SUM(h_amount) FROM history WHERE h_w_id = w_id)]] },
   { "D_YTD is the sum of H_AMOUNT", [[SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_d_id, SUM(h_amount) AS paid FROM history
      WHERE h_w_id = %1$d GROUP BY h_d_id) AS paid ON h_d_id = d_id WHERE d_w_id = %1$d AND NOT (d_ytd <=> paid)]] },
   { "C_BALANCE is what was delivered less what was paid", "SELECT COUNT(*) FROM customer LEFT JOIN " .. SUM_DELIVERED ..
      " ON o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN " .. SUM_PAID .. [[ ON h_c_d_id = c_d_id AND h_c_id = c_id
      WHERE c_w_id = %1$d AND c_balance <> IFNULL(delivered, 0) - IFNULL(paid, 0)]] },
   { "orders less open ones are those loaded as delivered and those delivered since", nil },
   { "C_BALANCE + C_YTD_PAYMENT is what was delivered", "SELECT COUNT(*) FROM customer LEFT JOIN " .. SUM_DELIVERED ..
      [[ ON o_d_id = c_d_id AND o_c_id = c_id WHERE c_w_id = %1$d AND c_balance + c_ytd_payment <> IFNULL(delivered, 0)]] },
}

local function check()
   connect()
   local broken = 0
   for number, condition in ipairs(CONDITIONS) do
      local title, query = condition[1], condition[2]
      local found, note = 0, ""
      if query then
         for warehouse = 1, sysbench.opt.warehouses do
            local text = query:gsub("%%1%$d", tostring(warehouse))
            local first = con:query(text)
            found = found + tonumber(first:fetch_row()[1])
            first:free()
         end
      else
         -- As written (2100 a district) condition 11 holds for a freshly loaded database only.
         local orders = tonumber((row("SELECT COUNT(*) FROM orders")))
         local open = tonumber((row("SELECT COUNT(*) FROM new_order")))
         local loaded = sysbench.opt.warehouses * DISTRICTS * floor(sysbench.opt.customers * 0.7)
         local since = orders - open - loaded
         note = format(" (%d since)", since)
         if sysbench.opt.delivered ~= "" then found = math.abs(since - sysbench.opt.delivered) else found = since < 0 and 1 or 0 end
      end
      print(format("condition %2d: %s: %s%s", number, title, found == 0 and "holds" or "BROKEN " .. found .. " times", note))
      if found ~= 0 then broken = broken + 1 end
   end
   local rows = {}
   for _, name in ipairs(TABLES) do rows[#rows + 1] = name .. "=" .. row("SELECT COUNT(*) FROM %s", name) end
   print("rows: " .. concat(rows, " "))
   if broken > 0 then error(broken .. " consistency conditions do not hold", 0) end
end

sysbench.cmdline.commands = {
   prepare = { prepare, sysbench.cmdline.PARALLEL_COMMAND },
   check = { check },
   cleanup = { cleanup },
}
