create procedure p() begin select 1; leave x; end

create procedure p() begin declare a int; declare a int; end

create procedure p() begin declare c cursor for select 1; declare a int; end

create procedure p() begin declare continue handler for 1051 begin end; declare a int; end

create procedure p() begin declare continue handler for 1051 begin end; declare c cursor for select 1;  end

create procedure p() begin declare continue handler for 1051 begin end; declare continue handler for 1051 begin end; end

create procedure p() begin set nosuch = 1; end

create procedure p() begin select 1 into nosuch; end

create procedure p() begin fetch c into a; end

create procedure p() begin open c; end

create procedure p(a int, a int) begin end

create procedure p() begin declare exit handler for foo begin end; end

create procedure p() begin signal foo; end

create procedure p() begin declare foo condition for 1051; signal foo; end

create procedure p() begin declare foo condition for sqlstate '00000'; end

create procedure p() begin declare foo condition for sqlstate 'abc'; end

create procedure p() begin declare foo condition for 0; end

create procedure p() l: begin iterate l; end

create procedure p() l: begin m: begin end l; end

create procedure p() l: begin l: begin end l; end

create procedure p() begin use test; end

create procedure p() begin return 1; end

create procedure p() begin lock tables t read; end

create procedure p() begin create procedure q() begin end; end

create procedure p() begin drop procedure q; end

create procedure p() begin load data infile 'x' into table t; end

create procedure p() begin declare c cursor for select 1 into @a; end

create procedure p() begin declare c cursor for select 1; declare c cursor for select 2; end

create procedure p() begin declare foo condition for 1051; declare foo condition for 1052; end

create procedure p() begin declare c cursor for select 1; declare a int; end

create procedure p() begin declare continue handler for sqlstate '00123' begin end; end

create procedure p() begin declare c cursor for select 1; fetch c into nosuch; end

create procedure p() begin declare a int default nosuch; end

create procedure p() begin select 1 end

create procedure p(out a int) begin end

create procedure p(out a int) begin end

call p(1)

call p(@a, 1)

call nosuch()

call nosuch.x()

drop procedure nosuch

drop procedure if exists nosuch

show warnings

create procedure if not exists p(out a int) begin end

show warnings

alter procedure nosuch comment 'x'

show create procedure nosuch

create procedure nosuchdb.p() begin end

signal sqlstate '45000' set message_text='hi', mysql_errno=1234

signal sqlstate '01000' set message_text='hi', mysql_errno=1234

show warnings

signal sqlstate '02000'

signal sqlstate '45000'

signal sqlstate '01000'

show warnings

signal sqlstate '00000'

signal sqlstate '4500'

signal foo

resignal

signal sqlstate '45000' set message_text=null

signal sqlstate '45000' set mysql_errno=0

signal sqlstate '45000' set mysql_errno=70000

signal sqlstate '45000' set message_text='a', message_text='b'

get diagnostics condition 1 @a = message_text

show warnings

select @a

select nosuch into @a

get diagnostics @n = number, @r = row_count

select @n, @r

get diagnostics condition 1 @c = class_origin, @s=subclass_origin, @m=message_text, @e=mysql_errno, @st=returned_sqlstate, @cc=constraint_catalog, @cn=cursor_name, @tn=table_name

select @c,@s,@m,@e,@st,@cc,@cn,@tn

get diagnostics condition 2 @c = class_origin

show warnings

get diagnostics nosuch = number

select 1 into nosuch

select 1 limit nosuch

set nosuch = 1

begin declare a int; end

if 1 then select 1; end if
