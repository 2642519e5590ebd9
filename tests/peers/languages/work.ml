exception Found of int
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let () =
  Printf.printf "%d\n" (fib 27);
  (try List.iter (fun x -> if x > 5000 then raise (Found x)) (List.init 10000 (fun x -> x))
   with Found x -> Printf.printf "%d\n" x);
  let a = List.sort compare (List.init 100000 string_of_int) in
  print_endline (List.nth a 777)
