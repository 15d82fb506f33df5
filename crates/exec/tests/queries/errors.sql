INSERT INTO t VALUES (1,'anna',10),(2,'Bob',20)
select x from t
select t.x from t
select z.x from t
select z.* from t
select id from t join u
select id from t where zz=1
select 1 from t join u on zz=1
select 1 from t group by zz
select 1 from t having zz=1
select 1 from t order by zz
select k from t having id=1
select id from t group by k
select id,count(*) from t
select count(count(*)) from t
select 1 from t where count(*)=1
select 1 from (select 1)
select 1 from (select 1,1) a
select (select 1,2)
select 1 from t, t
select 1 union select 1,2
select 1 from t order by 5
select 1 from t group by 5
select distinct k from t order by id
select 1 in (select 1,2)
select (1,2)=(1)
select *
select count(*) from t group by count(*)
select a.id from t
select plan_y.t.id from t
select 1 from noo
select 1 from nodb.noo
insert into t (zz) values (1)
insert into t (id,id) values (1,1)
insert into t values (1)
insert into t (id) values (1,2)
insert into t values (7,'a',1),(8)
update t set zz=1
update t set id=1 where zz=1
update t, t a set zz=1
delete z from t
select * from t join u using (zz)
select id as x, x+1 from t
select id as x from t where x=1
select max(id) as m from t order by max(k)
select k, max(id) from t group by k having max(k) > name
with c as (select 1 a) select * from c d where c.a=1
with c(a,b) as (select 1) select * from c
select nofunc(1)
select abs()
select foo.bar(1)
select id k, k from t order by k
select id, k as id from t order by id
select id, k as id from t group by id
select id from t where id in (select id from t limit 1)
select (select id from t)
update t set k = (select max(k) from t)
delete from t where id in (select id from t)
select id from t a where exists (select 1 from t b where b.zz = a.id)
select default(id) from t
select id from t force index (nope)
insert into t select 1,2
select * from t for update of x
select 5 union select 1 order by zz
