(* Recursion, exceptions through 500 frames, collections of what is live on stacks, C that calls back, threads. *)
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
exception X of int
let rec deep n = if n = 0 then raise (X 7) else 1 + deep (n - 1)
let rec kept n = let data = Array.make 10 n in let below = if n = 0 then 0 else kept (n - 1) in below + data.(n mod 10)
let sorted () =
  let a = Array.init 500 (fun i -> (i * 7919) mod 500) in
  Array.stable_sort compare a; a.(0) = 0 && a.(499) = 499
let table () =
  let h = Hashtbl.create 16 in
  for i = 1 to 1000 do Hashtbl.replace h (string_of_int i) i done;
  Hashtbl.fold (fun _ v s -> v + s) h 0 = 500500
let round () =
  fib 20 = 6765 && (try ignore (deep 500); false with X n -> n = 7) && kept 1000 = 500500 && sorted () && table ()
let () =
  let finish = Unix.gettimeofday () +. float_of_string Sys.argv.(1) in
  let fine = ref true in
  let work () = while Unix.gettimeofday () < finish do if not (round ()) then fine := false done in
  let threads = List.init 2 (fun _ -> Thread.create work ()) in
  work ();
  List.iter Thread.join threads;
  print_endline (if !fine then "fine" else "broken")
