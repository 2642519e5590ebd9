/* Raw Linux system calls: no errno, no cancellation point, no libc.
 *
 * Context: any, signal handlers included.
 * Each call returns the kernel's value: negative errno on failure (sys_failed). */
#ifndef PENUMBRA_SIGSAFE_SYS_H
#define PENUMBRA_SIGSAFE_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#ifdef __clang_analyzer__
/* To the static analyzer, system calls are unknown functions that may write through any argument:
 * it does not look into the assembly, and would take what they fill in for uninitialized. */
long sys_call6_as(long number, long a, long b, long c, long d, long e, long f);
long sys_call3_as(long number, long a, long b, long c);
#else
static inline long sys_call6_as(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long sys_call3_as(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

#endif

/* Whether a call has failed. An address may be negative, too: errno is at most 4095. */
static inline bool sys_failed(long result)
{
    return result < 0 && result > -4096;
}

/* Nanoseconds of a clock; 0: the kernel does not have it. */
static inline uint64_t sys_clock_ns_as(long clock)
{
    struct timespec now = {0, 0};
    sys_call3_as(SYS_clock_gettime, clock, (long)&now, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t sys_ticks_as(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

#endif
