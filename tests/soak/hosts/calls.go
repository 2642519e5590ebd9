// Recursion that makes stacks grow and move, panics through 500 frames, goroutines on several threads, calls of C
// that call back.
package main

/*
extern int back(int);
static int there(int n) { return back(n) + 1; }
static int compare(const int *a, const int *b) { return *a - *b; }
#include <stdlib.h>
static int sorted(int n) {
	int v[64], fine = 1;
	for (int i = 0; i < 64; i++) v[i] = (i * 37 + n) % 64;
	qsort(v, 64, sizeof *v, (int (*)(const void *, const void *))compare);
	for (int i = 0; i < 64; i++) fine &= v[i] == i;
	return fine;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

//export back
func back(n C.int) C.int {
	if n == 0 {
		return 0
	}
	return C.there(n-1) + 1
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func deep(n int) int {
	if n == 0 {
		panic("x")
	}
	var room [64]int
	room[n%64] = n
	return deep(n-1) + room[n%64]
}

func caught() (message any) {
	defer func() { message = recover() }()
	deep(500)
	return nil
}

func worker(end time.Time, fine chan<- bool) {
	ok := true
	for time.Now().Before(end) {
		ok = ok && fib(18) == 2584 && caught() == "x" && back(50) == 100 && C.sorted(7) == 1
		grown := make(chan bool)
		go func() { grown <- caught() == "x" }() // a new stack
		ok = <-grown && ok
	}
	fine <- ok
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	fine := make(chan bool)
	for i := 0; i < 4; i++ {
		go worker(time.Now().Add(time.Duration(seconds)*time.Second), fine)
	}
	ok := true
	for i := 0; i < 4; i++ {
		ok = <-fine && ok
	}
	fmt.Println(map[bool]string{true: "fine", false: "broken"}[ok])
}
