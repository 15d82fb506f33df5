create procedure p1() begin declare a tinyint; set a = 300; select a; end

call p1()

create procedure p2() begin declare a varchar(2); set a = 'abc'; select a; end

call p2()

create procedure p3(a tinyint, out b int) begin set b = 'xyz'; end

call p3(400, @b)

call p3(1, @b)

create procedure p5() begin declare e enum('a','b'); set e = 'c'; end

call p5()

create procedure p6() begin declare x int default 5; declare continue handler for sqlwarning select 'warning'; drop table if exists nosuch; select 'after note'; select cast('abc' as signed); select 'after'; end

call p6()

create procedure p7() begin declare x int; declare continue handler for not found select 'nf'; select 1 into x from dual where 0; select x; end

call p7()

create procedure p8() begin declare exit handler for sqlexception begin get diagnostics condition 1 @m = message_text, @s = returned_sqlstate, @e = mysql_errno, @c = class_origin, @sc=subclass_origin, @tn=table_name, @cn = column_name; select @m, @s, @e, @c, @sc, @tn, @cn; show warnings; end; select * from nosuch; end

call p8()

show warnings

create procedure p9() begin declare exit handler for sqlexception begin resignal set message_text = 'mine'; end; select * from nosuch; end

call p9()

show warnings

create procedure p10() begin declare exit handler for sqlexception begin resignal sqlstate '45000' set message_text = 'mine'; end; select * from nosuch; end

call p10()

show warnings

create procedure p11() begin declare c cursor for select 1 union select 2; declare a,b int; end

create procedure p11() begin declare a, b int; declare c cursor for select 1 union select 2; fetch c into a; end

call p11()

create procedure p12() begin declare a, b int; declare c cursor for select 1 union select 2; open c; open c; end

call p12()

create procedure p13() begin declare a, b int; declare c cursor for select 1 union select 2; open c; fetch c into a,b; end

call p13()

create procedure p14() begin declare a, b int; declare c cursor for select 1 union select 2; open c; fetch c into a; select a; fetch c into a; select a; fetch c into a; end

call p14()

create procedure p15() begin declare a int; close c; end

create procedure p16() begin declare c cursor for select 1; close c; end

call p16()

create procedure p17(n int) begin case n when 1 then select 'one'; when 2 then select 'two'; end case; end

call p17(1)

call p17(3)

create procedure p18(n int) begin select n; if n > 0 then call p18(n-1); end if; end

create procedure rec(n int) begin declare exit handler for 1456 select n, 'limit'; call rec(n + 1); end

call rec(0)

set max_sp_recursion_depth = 2

call p18(1)

call rec(0)

create table t(a int primary key, b int)

create procedure p19() begin insert into t values (1,1); insert into t values (2,2),(3,3); end

call p19()

select row_count()

create procedure p20() begin insert ignore into t values (1,1); end

call p20()

show warnings

create procedure p21(inout x int, out y varchar(10), in z int) begin set x = x + 1; set y = concat('y', z); set z = 5; end

set @x = 1

call p21(@x, @y, 7)

select @x, @y

call p21(1, @y, 7)

create procedure p22() begin select 1; select nosuch; select 2; end

call p22()

create procedure p23() begin declare x int default 1; select x, x as y, x+1 from t order by x limit x; update t set b = x where a = x; select * from t where a = x; end

call p23()

create procedure p24() begin declare a int default 7; select a from t; select t.a from t; end

call p24()

create procedure p25() begin declare continue handler for sqlexception select 'caught'; signal sqlstate '45000'; select 'go on'; signal sqlstate '02000'; end

call p25()

create procedure p26() begin begin declare exit handler for 1146 select 'inner'; begin declare exit handler for sqlexception select 'innermost'; select * from nosuch; end; select 'b'; end; select 'c'; end

call p26()

create procedure p27() begin declare exit handler for sqlstate '42S02' select 'state'; declare exit handler for 1146 select 'number'; declare exit handler for sqlexception select 'exc'; select * from nosuch; end

call p27()

create procedure p28() begin declare continue handler for sqlexception begin select 'h'; select * from nosuch2; end; select * from nosuch; select 'x'; end

call p28()

create procedure p29() begin declare i int default 0; l: loop set i = i + 1; if i = 2 then iterate l; end if; if i > 4 then leave l; end if; select i; end loop; while i > 3 do set i = i - 1; end while; repeat set i = i + 10; until i > 30 end repeat; select i; end

call p29()

prepare s from 'call p21(?,?,?)'

set @a=1,@b=2,@c=3

execute s using @a,@b,@c

select @a,@b,@c

create procedure types_() begin declare e enum('a','b') default 'b'; declare s set('x','y') default 'x,y'; declare bb bit(4) default 5; declare y year default 2020; declare d date default '2020-01-02'; declare t time(3) default '10:11:12.5'; declare dc decimal(10,3) default 1.23456; declare f float default 1.1; declare js json default '{"a": 1}'; declare u bigint unsigned default 18446744073709551615; select e, s, bb+0, y, d, t, dc, f, js, u; end

call types_()

select SPECIFIC_NAME, ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, DTD_IDENTIFIER, ROUTINE_BODY, ROUTINE_DEFINITION, EXTERNAL_LANGUAGE, PARAMETER_STYLE, IS_DETERMINISTIC, SQL_DATA_ACCESS, SECURITY_TYPE, SQL_MODE, ROUTINE_COMMENT, DEFINER, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, DATABASE_COLLATION from information_schema.routines where routine_schema = 'routines_expected' and routine_name in ('p21', 'p29')
