# LATERAL: a derived table that reads columns of the tables before it.
create database lat; use lat;
create table t (id int primary key, g int, name varchar(10));
create table o (id int primary key, t_id int, amt decimal(8,2), key (t_id));
insert into t values (1,1,'a'), (2,1,'b'), (3,2,'c'), (4,2,null);
insert into o values (1,1,10), (2,1,20), (3,1,30), (4,2,5), (5,2,7), (6,3,1);

# The first rows of each group.
select t.id, l.* from t, lateral (select o.id oid, o.amt from o where o.t_id = t.id order by o.amt desc limit 2) l order by 1, 2;
select t.id, l.* from t left join lateral (select o.id oid, o.amt from o where o.t_id = t.id order by o.amt desc limit 2) l on true order by 1, 2;
select t.id, l.s from t join lateral (select sum(amt) s from o where o.t_id = t.id) as l where l.s > 10 order by 1;
select t.id, l.s from lateral (select 1 as s) l, t order by 1;
select t.id, l.* from t left join lateral (select t.id x) l on l.x > 1 order by 1;
select * from t join lateral (select t.id x) l on l.x = t.id and t.id > 1 order by 1;
select t.id, l.s from t straight_join lateral (select t.id as s) l order by 1;

# What it sees: tables before it, but those of the left side of a RIGHT JOIN.
select t.id, l.s from lateral (select t.id as s) l, t;
select t.id, l.s from t right join lateral (select t.id as s) l on 1;
select t.id, l.s from lateral (select t.id as s) l right join t on 1;
select x.id, t.id, l.z from t x, t right join lateral (select x.id z) l on 1 order by 1, 2, 3;
select x.id, l.b from t x left join (o right join lateral (select x.id b) l on o.id = l.b) on 1 order by 1, 2;
select x.id, l.b from t x right join (o right join lateral (select x.id b) l on o.id = l.b) on 1;
select x.id, l.b from t x left join (lateral (select x.id b) l right join o on o.id = l.b) on 1 order by 1, 2;
select * from t, (select t.id) l;
select * from t, lateral (select nope.id) l;
select * from t, lateral (select l.id) l;
select 1 from lateral (select 1);

# Joins of joins.
select t.id, l.s from t left join (o join lateral (select o.id + t.id as s) l) on o.t_id = t.id order by 1, 2;
select t.id, l.s from t left join (o join lateral (select o.id as s) l) on o.t_id = t.id order by 1, 2;
select t.id, l.s from (t left join o on o.t_id = t.id) left join lateral (select o.id as s) l on l.s > 2 order by 1, 2;
select t.id, l.s from t natural join lateral (select t.id as id, 1 as s) l order by 1;
select t.id, l.s from t join lateral (select t.id as id, 1 as s) l using (id) order by 1;
select x.id, t.id, l.* from t x, t join lateral (select x.id xid, t.id tid from dual where x.id < t.id) l order by 1, 2;
select t.id, a.c, b.d from t, lateral (select count(*) c from o where o.t_id = t.id) a, lateral (select a.c + 1 as d) b order by 1;
select x.id, z.b from (t x, lateral (select x.id a) y) join lateral (select y.a b) z order by 1;

# Aggregates are those of the derived table; all that a query may have.
select * from t, lateral (select sum(t.id) s) l order by 1;
select * from t, lateral (select sum(t.id) s from o) l order by 1;
select * from t, lateral (select count(*) c from o where o.t_id = t.id having c > t.g) l order by 1;
select t.id, a.c from t, lateral (select * from (select count(*) c from o where o.t_id = t.id) z) a order by 1;
select t.id, a.c from t, lateral (with q as (select count(*) c from o where o.t_id = t.id) select * from q) a order by 1;
select t.id, a.c from t, lateral (select 1 c union select t.id union all select t.g) a order by 1, 2;
select t.id, v.a from t, lateral (values row(t.id), row(t.g)) v(a) order by 1, 2;
select x.id, z.r from t x, lateral (select row_number() over (order by o.id) r, o.id from o where o.t_id = x.id) z order by 1, 2;
select x.id, z.r from t x, lateral (with recursive c(n) as (select x.id union all select n + 1 from c where n < 3) select n r from c) z order by 1, 2;
select distinct z.* from t x, lateral (select x.g) z order by 1;
select z.g, count(*) from t x, lateral (select x.g) z group by z.g order by 1;
select x.id, z.* from t x, lateral (select (select sum(x.id)) s) z order by 1;
select x.id, z.id from t x, lateral (select * from o where exists (select 1 from t y where y.id = x.id and y.id = o.id)) z order by 1;
select * from t, lateral (select id from t t2 where t2.g = t.g order by id limit 1) l(x) where l.x = t.id order by 1;

# Within subqueries.
select id, (select l.m from lateral (select max(amt) m from o where o.t_id = t.id) l) m from t order by 1;
select id from t where exists (select 1 from o, lateral (select o.id + t.id as k) l where l.k = 4) order by 1;
select id from t where id in (select l.k from o, lateral (select o.id + t.g as k) l) order by 1;
select id from t where not exists (select 1 from o, lateral (select o.t_id as k) l where l.k = t.id) order by 1;

# Changes.
update t, lateral (select count(*) c from o where o.t_id = t.id) l set t.g = l.c;
select * from t order by 1;
delete t from t, lateral (select count(*) c from o where o.t_id = t.id) l where l.c = 0;
insert into t select l.id + 10, t.g, t.name from t, lateral (select t.id as id) l;
select * from t order by 1;
update t, lateral (select t.id as c) l set l.c = 1;

# Views.
create view lv as select t.id, l.m from t, lateral (select max(amt) m from o where o.t_id = t.id) l;
select * from lv order by 1;
drop view lv;

# Large values.
create table big (id int primary key, b longtext);
insert into big values (1, repeat('x', 100000)), (2, repeat('y', 70000)), (3, null);
select big.id, length(l.c), right(l.c, 2) from big, lateral (select concat(big.b, 'z') c) l order by 1;
select big.id, length(l.b), left(l.b, 2) from big left join lateral (select z.b from big z where z.b > big.b order by z.b limit 1) l on 1 order by 1;
drop database lat;
