create table t(a int primary key, b int)

insert into t values (1,1),(2,2)

create procedure g(s char(5)) begin declare exit handler for sqlexception, sqlwarning, not found begin get diagnostics condition 1 @c = class_origin, @sc=subclass_origin, @m=message_text, @n=constraint_name,@e=mysql_errno, @s=returned_sqlstate; select @c,@sc,@m,@n,@e,@s; end; 
case s when '45000' then signal sqlstate '45000' set constraint_name='cn', class_origin='co'; when 'HY000' then signal sqlstate 'HY000'; when 'XX000' then signal sqlstate 'XX000'; when '01001' then signal sqlstate '01001'; when '02XXX' then signal sqlstate '02XXX'; when '23000' then insert into t values (1,1); when '42ABC' then signal sqlstate '42ABC'; when '42IBC' then signal sqlstate '42IBC'; when 'I2000' then signal sqlstate 'I2000'; when '52000' then signal sqlstate '52000'; end case; end

call g('45000')

call g('HY000')

call g('XX000')

call g('01001')

call g('02XXX')

call g('23000')

call g('42ABC')

call g('42IBC')

call g('I2000')

call g('52000')

create procedure h1() begin declare continue handler for sqlexception begin end; insert into t values (1,1); end

call h1()

show warnings

create procedure h2() begin declare continue handler for sqlexception begin select cast('a' as signed) into @x; end; insert into t values (1,1); end

call h2()

show warnings

create procedure h3() begin declare x int; declare continue handler for sqlwarning select 'W'; select 1 into x from dual where 0; end

call h3()

show warnings

create procedure h4() begin declare x int; select cast('a' as signed) into x; set x = 1; end

call h4()

show warnings

create procedure h5() begin declare x int; insert ignore into t values (1,1); set x = 1; if x = 1 then set x = 2; end if; end

call h5()

show warnings

create procedure h6() begin declare x int; insert ignore into t values (1,1); begin end;  end

call h6()

show warnings

create procedure h7() begin declare exit handler for sqlexception begin get stacked diagnostics condition 1 @m = message_text; show warnings; select 1; show warnings; resignal; end; insert into t values (1,1); end

call h7()

show warnings

create procedure h8() begin declare exit handler for sqlexception resignal sqlstate '01000' set message_text='w'; insert into t values (1,1); end

call h8()

show warnings

create procedure h9() begin declare exit handler for 1062 select 'x'; call h7(); end

call h9()

show warnings

create procedure h10() begin declare continue handler for sqlexception select 'cont'; if (select nosuch) then select 'then'; else select 'else'; end if; select 'after'; case (select nosuch) when 1 then select 'one'; end case; while (select nosuch) do select 1; end while; select 'end'; end

call h10()

create procedure h11() begin declare c tinyint default 300; end

call h11()

create procedure h12() begin declare a int; signal sqlstate '45000' set message_text = repeat('x', 200); end

call h12()

create procedure h13() begin select 1 as `a b`, 'x' into @a, @b; set @c = 5, @d = @c + 1; end

call h13()

select @a,@b,@c,@d

create procedure h14(in a int, inout b int, out c int) begin select a, b, c; set a = 10, b = 20, c = 30; select a, b, c; end

set @b=2, @c=3

call h14(1, @b, @c)

select @b, @c

create procedure h15() begin call h14(1, @b, @c); call nosuchp(); end

call h15()

create procedure h16() begin declare x int; call h14(1, x, x); select x; end

call h16()

show create procedure h16

create definer=`peer`@`%` procedure h17( in a int , b varchar(10) charset latin1) comment 'it''s' language sql deterministic reads sql data sql security invoker  select a

show create procedure h17

create procedure h18() select 1

create procedure h18() select 1

call h18

call procs_x.h18()

alter procedure h18 comment 'new' sql security invoker

show create procedure h18

drop procedure h18

set autocommit=0

call h1()
