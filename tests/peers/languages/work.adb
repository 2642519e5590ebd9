with Ada.Text_IO; use Ada.Text_IO;
procedure Work is
   function Fib (N : Integer) return Integer is
   begin
      if N < 2 then return N; else return Fib (N - 1) + Fib (N - 2); end if;
   end Fib;
   task type Worker;
   task body Worker is
   begin
      Put_Line (Integer'Image (Fib (20)));
   end Worker;
begin
   Put_Line (Integer'Image (Fib (33)));
   declare
      W : Worker;
   begin
      null;
   end;
   raise Constraint_Error;
exception
   when Constraint_Error => Put_Line ("constraint");
end Work;
