use std::thread;

fn fib(n: u32) -> u32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }

fn main() {
    println!("{}", fib(33));
    let mut a: Vec<String> = (0..200000).map(|i| i.to_string()).collect();
    a.sort();
    println!("{}", a[777]);
    let threads: Vec<_> = (0..8).map(|i| thread::spawn(move || fib(15 + i))).collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).sum::<u32>());
    std::panic::set_hook(Box::new(|_| ()));
    println!("{}", std::panic::catch_unwind(|| { let v: Vec<u32> = vec![]; v[a_one()] }).is_err());
}

fn a_one() -> usize { 1 }
