package main

import (
	"fmt"
	"sort"
	"sync"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func one() (s string) {
	defer func() { s = fmt.Sprint(recover()) }()
	var m map[string]int
	m["a"] = 1
	return
}

func main() {
	fmt.Println(fib(33))
	a := []string{}
	for i := 0; i < 200000; i++ {
		a = append(a, fmt.Sprint(i))
	}
	sort.Strings(a)
	fmt.Println(a[777], one())
	var wait sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 100; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			lock.Lock()
			sum += fib(15)
			lock.Unlock()
		}()
	}
	wait.Wait()
	fmt.Println(sum)
}
