create table t (a int) ;; alter table t add b int
create table t (a int) ;; alter table t add column b int not null default 5 first, add c varchar(10) after a
create table t (a int, b int) ;; alter table t add (c int, d int, key (c), unique uu (d))
create table t (a int) ;; alter table t add a int
create table t (a int) ;; alter table t drop zz
create table t (a int) ;; alter table t drop a
create table t (a int, b int, c int, key k (a, b), key k2 (a), unique u (a)) ;; alter table t drop a
create table t (a int, b int, primary key (a, b)) ;; alter table t drop b
create table t (a int) ;; alter table t drop key zz
create table t (a int) ;; alter table t drop primary key
create table t (a int primary key) ;; alter table t drop primary key
create table t (a int auto_increment primary key) ;; alter table t drop primary key
create table t (a int, b int) ;; alter table t modify zz int
create table t (a int, b int) ;; alter table t modify a bigint not null default 3 comment 'x' after b
create table t (a int, b int, key (a)) ;; alter table t change a aa varchar(20) first
create table t (a int, b int, key (a)) ;; alter table t change zz yy int
create table t (a int, b int) ;; alter table t change a b int
create table t (a int, b int, key kk (a, b)) ;; alter table t rename column a to x, rename column b to y
create table t (a int, b int) ;; alter table t rename column a to b, rename column b to a
create table t (a int) ;; alter table t rename column zz to yy
create table t (a int, b int) ;; alter table t rename column a to b
create table t (a int, key k (a)) ;; alter table t rename index k to kk
create table t (a int, key k (a)) ;; alter table t rename index zz to kk
create table t (a int, key k (a), key kk (a)) ;; alter table t rename index k to kk
create table t (a int) ;; alter table t alter a set default 3
create table t (a int default 3) ;; alter table t alter a drop default
create table t (a int) ;; alter table t alter zz set default 3
create table t (a int) ;; alter table t alter a set default 'x'
create table t (a int) ;; alter table t add z int after nope
create table t (a int) ;; alter table t add primary key (b)
create table t (a int) ;; alter table t add primary key (a)
create table t (a int primary key, b int) ;; alter table t add primary key (b)
create table t (a int primary key, b int) ;; alter table t drop primary key, add primary key (b)
create table t (a int, b int) ;; alter table t add key (a), add unique (a), add index (b, a)
create table t (a int, b int, key a (a)) ;; alter table t add key a (b)
create table t (a int) ;; alter table t add key kk (b)
create table t (a text) ;; alter table t add key kk (a)
create table t (a int) comment 'x' ;; alter table t comment = 'new', row_format = compact
create table t (a int, b varchar(10), c text) ;; alter table t default charset latin1
create table t (a int, b varchar(10), c text, d enum('a','b'), e varbinary(3)) ;; alter table t convert to character set latin1
create table t (a int, b varchar(10), c text, d tinytext, e varchar(5) collate latin1_bin) charset latin1 ;; alter table t convert to character set utf8mb4 collate utf8mb4_bin
create table t (a int) ;; alter table t engine=innodb
create table t (a int) ;; alter table t force
create table t (a int auto_increment primary key) ;; alter table t auto_increment = 50
create table t (a int) ;; alter table t add id int auto_increment primary key first
create table t (a int) ;; alter table t add id int auto_increment
create table t (a int) ;; alter table t modify a int auto_increment primary key
create table t (a int, b int invisible) ;; alter table t alter b set visible, alter a set invisible
create table t (a int, key k (a)) ;; alter table t alter index k invisible
create table t (a int, key k (a)) ;; alter table t alter index zz invisible
create table t (a int, constraint c check (a > 0)) ;; alter table t drop check c
create table t (a int, constraint c check (a > 0)) ;; alter table t drop constraint c
create table t (a int) ;; alter table t drop check c
create table t (a int) ;; alter table t drop constraint c
create table t (a int, constraint c check (a > 0)) ;; alter table t alter check c not enforced
create table t (a int, check (a > 0)) ;; alter table t add check (a < 10), add constraint zz check (a <> 5)
create table t (a int primary key, b int) ;; alter table t add constraint fk foreign key (b) references t (a) on delete set null
create table t (a int primary key, b int, constraint fk foreign key (b) references t (a)) ;; alter table t drop foreign key fk
create table t (a int primary key, b int, constraint fk foreign key (b) references t (a)) ;; alter table t drop key fk
create table t (a int primary key, b int, constraint fk foreign key (b) references t (a)) ;; alter table t drop column b
create table t (a int primary key, b int) ;; alter table t drop foreign key zz
create table t (a int, b int) ;; create index k on t (b)
create table t (a int, b int) ;; create unique index k on t (b desc, a) comment 'c'
create table t (a int, key k (a)) ;; create index k on t (a)
create table t (a int, key k (a)) ;; drop index k on t
create table t (a int) ;; drop index k on t
create table t (a int primary key) ;; drop index `primary` on t
create table t (a int) ;; alter table t add b int, algorithm=instant
create table t (a int) ;; alter table t modify a bigint, algorithm=instant
create table t (a int) ;; alter table t add b int, algorithm=nope
create table t (a int) ;; alter table t add b int, lock=nope
create table t (a varchar(10)) ;; alter table t modify a varchar(20)
create table t (a enum('a','b')) ;; alter table t modify a enum('a','b','c')
create table t (a int) ;; alter table t add b timestamp not null default current_timestamp
create table t (a int) ;; alter table t add b int unique, add c int primary key
create table t (a int, b int) ;; alter table t drop a, add a varchar(3)
create table t (a int, b int) ;; alter table t add c int after b, drop b
create table t (a int, b int) ;; alter table t modify b int first, modify a int after b
create table s (a int, key k (a), b varchar(3) default 'x') comment 'c' ;; create table t like s
create table s (a int auto_increment primary key, check (a2 > 0), a2 int, foreign key (a2) references s (a)) ;; create table t like s
create table s (a int) ;; rename table s to t
create table s (a int, check (a > 0)) ;; alter table s rename to t
create table t (a int) ;; rename table t to t
create table t (a int) ;; rename table nope to t2
create table t (a int) ;; alter table nope add a int
create table t (a int) ;; drop table t, nope
create table t (a int) ;; drop table if exists nope
create table t (a int) ;; create table t (a int)
create table t (a int) ;; create table if not exists t (b int)
create table t (a int) ;; truncate table nope
create table t (a int auto_increment primary key) auto_increment=10 ;; truncate table t
create table s (a int primary key) ;; create table t (b int, foreign key (b) references s (a)) ;; drop table s
create table s (a int primary key) ;; create table t (b int, foreign key (b) references s (a)) ;; truncate s
create table s (a int primary key) ;; create table t (b int, foreign key (b) references s (a)) ;; rename table s to s2
create temporary table t (a int) ;; alter table t add b int
create table t (a int) ;; create temporary table t (b int, key (b))
create table t (a int) ;; create temporary table t (b int) ;; drop table t
create table t (a int) ;; drop temporary table t
create database ddl_expected
create database if not exists ddl_expected
drop database ddl_expected_nope
drop database if exists ddl_expected_nope
create table t (a varchar(5)) ;; alter database ddl_expected charset latin1 ;; create table s (a varchar(4))
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b)) ;; alter table t rename column id to a, rename column a to id
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), unique ub (b)) ;; alter table t rename column id to a, rename column a to b, rename column b to id
create table t (a int, b int, key (a), key (b), key (a, b)) ;; alter table t change a b int, change b a int
create table t (a int primary key, b int, c int, constraint f foreign key (b) references t (a)) ;; alter table t rename column a to b, rename column b to a
create table p (a int primary key) ;; create table t (x int, y int, constraint f foreign key (x) references p (a)) ;; alter table t rename column x to y, rename column y to x
create table p (a int primary key) ;; create table t (x int, y int, constraint f foreign key (x) references p (a)) ;; alter table t drop x, add x int
create table p (a int primary key) ;; create table t (x int, y int, constraint f foreign key (x) references p (a)) ;; alter table t drop x, rename column y to x
create table p (a int primary key) ;; create table t (x int, y int, constraint f foreign key (x) references p (a)) ;; alter table t rename column x to w, add x int first
create table t (a int primary key, b int unique, d int) ;; create table c (x int, y int, foreign key (x) references t (a), constraint f foreign key (y) references t (b)) ;; alter table t drop b, add b int
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop a, add a int
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop a, add a varchar(10) first
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop a, add a text
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop a, add a bigint
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop a, add a float
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop a, drop b
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t drop id, add id int auto_increment
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t rename column a to x, add a int
create table t (id int primary key, a int, b int, key ka (a), key kab (a, b), key kb (b)) ;; alter table t rename column a to x, add a int first
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t drop a, add a varchar(20)
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t drop a, add a varchar(30)
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t drop a, add a varchar(4)
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t drop c, add c decimal(12,2)
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t drop c, add c blob
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t modify a varchar(5)
create table t (a varchar(20), b int, c decimal(10,2), key (a(5)), key (a(7), b), key (a), key (c)) ;; alter table t modify a int
create table t (a int, c int) ;; alter table t add n int after m, add m int
create table t (a int, c int) ;; alter table t add n int after x, rename column c to x
create table t (a int, c int) ;; alter table t add n int after c, rename column c to x
create table t (a int, c int, d int) ;; alter table t modify a int after d, modify c int after a
create table t (a int, y int) ;; alter table t add (x1 int, x2 int), add x3 int first, modify y int after x2
create table t (a int) ;; alter table t drop nope, modify nope2 int
create table t (a int) ;; alter table t drop nope, drop index nope3, add b int
create table t (a varchar(5)) ;; alter table t add b varchar(5), convert to character set latin1, add c text
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop c
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop a
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop a, drop b
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop a, drop check ab
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t rename column c to x
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t change b x int
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t rename column a to b, rename column b to a
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop constraint ab, rename column a to x, add check (x < b)
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop nope, rename column c to x
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop c, add c int
create table t (a int, b int, c int check (c > 0), constraint ab check (a < b)) ;; alter table t drop c, drop check t_chk_1
create table t (a int, b int, z int default (a)) ;; alter table t drop a
create table t (a int, b int, z int default (a)) ;; alter table t drop a, add a int
create table t (a int, b int, z int default (a)) ;; alter table t drop a, drop z
create table t (a int, b int, z int default (a)) ;; alter table t drop a, alter z drop default
create table t (a int, b int, z int default (a)) ;; alter table t drop a, modify z int
create table t (a int, b int, z int default (a)) ;; alter table t drop a, modify z int default (a)
create table t (a int, b int, z int default (a)) ;; alter table t drop a, modify z int default (a), add a int
create table t (a int, b int, z int default (a)) ;; alter table t rename column a to x
create table t (a int, b int, z int default (a)) ;; alter table t rename column a to x, rename column z to zz
create table t (a int, b int, z int default (a)) ;; alter table t rename column a to x, alter z set default (x)
create table t (a int, b int, z int default (a)) ;; alter table t change a x int, modify z int default (a)
create table t (a int, b int, z int default (a)) ;; alter table t modify a varchar(5), drop nope
create table t (a int, b int, z int default (a)) ;; alter table t modify a int default (b + 1)
create table t (a int, b int, z int default (a)) ;; alter table t modify a int default (b + 1) after z
create table t (a int, b int) ;; alter table t add x int default (nope)
create table t (a int, b int) ;; alter table t add x int default (x)
create table t (a int auto_increment primary key, b int) ;; alter table t add x int default (a)
create table t (id int auto_increment primary key, c int) ;; alter table t alter id set default 5
create table t (id int auto_increment primary key, c int) ;; alter table t alter id set default (5)
create table t (id int auto_increment primary key, c int) ;; alter table t alter id set default 'abc'
create table t (id int auto_increment primary key, c int) ;; alter table t alter id set default null
create table t (id int auto_increment primary key, c int) ;; alter table t alter id drop default
create table t (id int, c int) ;; alter table t modify c int, modify c date
create table t (id int, c int) ;; alter table t rename column c to x, modify column c int
create table t (id int, c int) ;; alter table t modify column c int, rename column c to x
create table t (id int, c int) ;; alter table t alter c set default 1, alter c set default 2
create table t (id int, c int) ;; alter table t alter c set default 1, alter c set invisible
create table t (id int, c int) ;; alter table t rename column c to x, rename column c to y
create table t (id int, c int) ;; alter table t rename column c to x, alter x set default 5
create table t (id int, c int) ;; alter table t drop c, alter c set default 1
create table t (id int, c int) ;; alter table t add n int, modify n int
create table t (id int, c text) ;; alter table t alter c set default ('x')
create table t (id int, c text) ;; alter table t alter c set default null
create table t (id int, c json) ;; alter table t alter c set default (json_array())
