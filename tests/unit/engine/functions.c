#include "functions.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t fibonacci(uint64_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3) + (hash >> 29);
}

static uint64_t switches(uint64_t n)
{
    uint64_t hash = n;
    for (uint64_t i = 0; i < 50 * n; i++)
        switch ((hash >> 7) % 11) {
        case 0: hash = mix(hash, 1); break;
        case 1: hash += i; break;
        case 2: hash = hash << 3 | hash >> 61; break;
        case 3: hash ^= hash >> 5; break;
        case 4: hash -= 77; break;
        case 5: hash = mix(hash, i); break;
        case 6: hash = ~hash; break;
        case 7: hash *= 3; break;
        case 8: hash += hash >> 31; break;
        default: hash = mix(hash, hash); break;
        }
    return hash;
}

static uint64_t one(uint64_t x) { return x + 1; }
static uint64_t two(uint64_t x) { return x * 3; }
static uint64_t three(uint64_t x) { return mix(x, 9); }
static uint64_t (*volatile const table[])(uint64_t) = { one, two, three, two, one };

static uint64_t indirect_calls(uint64_t n)
{
    uint64_t x = n;
    for (uint64_t i = 0; i < 40 * n; i++)
        x = table[x % 5](x);
    return x;
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static uint64_t sorts(uint64_t n)
{
    int v[700];
    uint64_t hash = n;
    for (uint64_t i = 0; i < n; i++) {
        hash = mix(hash, i);
        v[i] = (int)(hash >> 40);
    }
    qsort(v, n, sizeof *v, compare);
    for (uint64_t i = 0; i < n; i++)
        hash = mix(hash, (uint64_t)v[i]);
    return hash;
}

static uint64_t prints(uint64_t n)
{
    char text[256];
    uint64_t hash = 0;
    for (uint64_t i = 0; i < n; i++) {
        int length = snprintf(text, sizeof text, "%lu %-10s|%+.9g|%#x|%c", i * i, "ab\tc",
                              sqrt((double)i) * 1e3, (unsigned)(i * 77), (int)('a' + i % 26));
        for (int k = 0; k < length; k++)
            hash = mix(hash, (uint64_t)text[k]);
        hash = mix(hash, (uint64_t)strtod(text, NULL));
    }
    return hash;
}

static uint64_t strings(uint64_t n)
{
    static char from[5000], to[5000];
    uint64_t hash = 0;
    for (uint64_t i = 0; i < sizeof from; i++)
        from[i] = (char)('a' + (i * 31 + n) % 23);
    for (uint64_t length = 0; length < 4000; length += 1 + length / 2) {
        memset(to, (int)length, sizeof to);
        memcpy(to + n % 16, from, length);
        memmove(to + 3, to, length);
        hash = mix(hash, (uint64_t)(unsigned)memcmp(to, from, length) >> 31);
        from[length] = 0;
        hash = mix(hash, strlen(from) + (strchr(from, 'q') != NULL));
        from[length] = 'q';
    }
    return mix(hash, (uint64_t)to[17]);
}

/* rep movsb, repne scasb, std; cld; loop; jrcxz; flags over many instructions. */
static uint64_t string_instructions(uint64_t n)
{
    uint8_t from[256], to[256];
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 + n);
    uint64_t count = n % 200, result = 0;
    const void *s = from;
    void *d = to;
    __asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(count) : : "memory");
    count = 200;
    d = from;
    __asm__ volatile("repne scasb" : "+D"(d), "+c"(count) : "a"(77) : "cc", "memory");
    result = mix(count, n);
    count = n % 50;
    __asm__ volatile("    xorl %%eax, %%eax\n"
                     "    jrcxz 2f\n"
                     "1:  addq %%rcx, %0\n"
                     "    adcq $0, %%rax\n"
                     "    rolq $7, %0\n"
                     "    loop 1b\n"
                     "2:  stc\n"
                     "    jrcxz 3f\n"
                     "    clc\n"
                     "3:  adcq %%rax, %0\n"
                     "    std\n"
                     "    pushfq\n"
                     "    andq $-257, (%%rsp)\n" /* the trap flag, when single-stepping */
                     "    popq %%rax\n"
                     "    cld\n"
                     "    addq %%rax, %0\n"
                     : "+r"(result), "+c"(count)
                     :
                     : "rax", "cc", "memory");
    return mix(result, to[n % 100 < n % 200 ? n % 100 : 0] * (uint64_t)(n % 200 > 0));
}

static jmp_buf out;

static volatile uint64_t bottom;

static uint64_t deep(uint64_t n)
{
    if (n == bottom)
        longjmp(out, 5);
    if (n > 1000)
        return n;
    return deep(n - 1) + n;
}

static uint64_t jumps(uint64_t n)
{
    volatile uint64_t rounds = 0, depth = n;
    int value = setjmp(out);
    rounds = rounds + 1;
    if (rounds < 5)
        return deep(depth) + rounds;
    return mix(rounds, (uint64_t)value);
}

static uint64_t floats(uint64_t n)
{
    double sum = 0;
    long double wide = 1;
    for (uint64_t i = 1; i <= n; i++) {
        sum += sin((double)i) / exp(1.0 / (double)i);
        wide = wide * 1.0001L + (long double)i;
    }
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return mix(bits, (uint64_t)wide);
}

static uint64_t returns_with_pop(uint64_t n)
{
    uint64_t result = n;
    __asm__ volatile("    subq $128, %%rsp\n"
                     "    pushq %0\n"
                     "    pushq %0\n"
                     "    call 1f\n"
                     "    jmp 2f\n"
                     "1:  movq 8(%%rsp), %%rax\n"
                     "    leaq 5(%%rax,%%rax), %0\n"
                     "    ret $16\n"
                     "2:  addq $128, %%rsp\n"
                     : "+r"(result)
                     :
                     : "rax", "cc", "memory");
    return result;
}

/* What a call and a return leave just below the stack pointer is the program's. */
static uint64_t below_the_stack(uint64_t n)
{
    uint64_t result = n, address;
    __asm__ volatile("    subq $128, %%rsp\n"
                     "    leaq 1f(%%rip), %1\n"
                     "    call 2f\n"
                     "1:  movq -8(%%rsp), %%rax\n"
                     "    subq %1, %%rax\n"
                     "    addq %%rax, %0\n"
                     "    jmp 3f\n"
                     "2:  movq (%%rsp), %%rax\n"
                     "    subq %1, %%rax\n"
                     "    leaq 1(%0,%%rax), %0\n"
                     "    ret\n"
                     "3:  addq $128, %%rsp\n"
                     : "+r"(result), "=&r"(address)
                     :
                     : "rax", "cc", "memory");
    return result;
}

/* Calls on a stack that is aligned to nothing, some of them across each other's places. */
static uint64_t odd_stacks(uint64_t n)
{
    uint64_t result = n, shift = n % 16;
    __asm__ volatile("    subq $256, %%rsp\n"
                     "    movl $40, %%edx\n"
                     "1:  subq %1, %%rsp\n"
                     "    call 2f\n"
                     "    addq %1, %%rsp\n"
                     "    leaq 3(%0,%0,2), %0\n"
                     "    call 2f\n"
                     "    subq $5, %%rsp\n"
                     "    call 3f\n"
                     "    addq $5, %%rsp\n"
                     "    decl %%edx\n"
                     "    jnz 1b\n"
                     "    jmp 4f\n"
                     "2:  call 3f\n"
                     "    addq $7, %0\n"
                     "3:  rolq $3, %0\n"
                     "    ret\n"
                     "4:  addq $256, %%rsp\n"
                     : "+r"(result)
                     : "r"(shift)
                     : "rdx", "cc", "memory");
    return result;
}

/* A return whose call was somewhere else: two stacks that switch by pushed addresses, and a frame
 * that is thrown away. */
static uint64_t switches_of_stacks(uint64_t n)
{
    static __thread uint64_t other[64];
    uint64_t result = n;
    __asm__ volatile("    subq $128, %%rsp\n"
                     "    movl $30, %%edx\n"
                     "    leaq 480(%1), %%rsi\n"
                     "    leaq 5f(%%rip), %%rax\n"
                     "    movq %%rax, (%%rsi)\n"
                     "1:  call 3f\n"
                     "    leaq 1(%0,%0,4), %0\n"
                     "    call 6f\n"
                     "2:  decl %%edx\n"
                     "    jnz 1b\n"
                     "    jmp 7f\n"
                     "3:  xchgq %%rsp, %%rsi\n" /* to the other stack, wherever it was */
                     "    ret\n"
                     "4:  call 3b\n"
                     "5:  rolq $9, %0\n"
                     "    xorq %%rdx, %0\n"
                     "    jmp 4b\n"
                     "6:  leaq 2b(%%rip), %%rax\n" /* returns to a place it was not called from */
                     "    movq %%rax, (%%rsp)\n"
                     "    ret\n"
                     "7:  addq $128, %%rsp\n"
                     : "+r"(result)
                     : "r"(other)
                     : "rax", "rdx", "rsi", "cc", "memory");
    return result;
}

/* What is behind a block's end reads the carry, at once, later, or on one of two ways; and a
 * register that nobody needs. */
static uint64_t flags_behind_blocks(uint64_t n)
{
    uint64_t sum = n;
    for (uint64_t i = 0; i < n; i++)
        __asm__ volatile(
            "    subq $128, %%rsp\n"
            "    cmpb $7, %b1\n    leal 1(%1), %%eax\n    jmp 1f\n"
            "1:  adcq $1, %0\n"
            "    cmpb $9, %b1\n    leal 2(%1), %%eax\n    jmp 1f\n"
            "1:  .rept 12\n    nop\n    .endr\n"
            "    adcq %0, %0\n"
            "    cmpb $5, %b1\n    leal 3(%1), %%eax\n    incl %%eax\n    jz 1f\n"
            "    adcq %0, %0\n"
            "1:  xorl %%eax, %%eax\n"
            "    cmpb $6, %b1\n    leal 3(%1), %%eax\n    incl %%eax\n    jnz 1f\n"
            "    xorl %%eax, %%eax\n"
            "1:  adcq $3, %0\n"
            "    cmpb $3, %b1\n    leal 4(%1), %%eax\n    call 1f\n    jmp 2f\n"
            "1:  adcq %0, %0\n    ret\n"
            "2:  cmpb $8, %b1\n    leal 5(%1), %%eax\n"
            "    .rept 70\n    nop\n    .endr\n"
            "    adcq $1, %0\n"
            "    cmpb $4, %b1\n    leal 6(%1), %%ecx\n    movl $5, %%ecx\n    adcq %%rcx, %0\n"
            "    addq $128, %%rsp\n"
            : "+&r"(sum)
            : "r"(i)
            : "rax", "rcx", "cc", "memory");
    return sum;
}

const struct function functions[] = {
    { "fibonacci", fibonacci, 20, 7 },
    { "switches", switches, 40, 1 },
    { "indirect calls", indirect_calls, 40, 2 },
    { "sorts", sorts, 700, 15 },
    { "prints", prints, 50, 2 },
    { "strings", strings, 20, 0 },
    { "string instructions", string_instructions, 400, 60 },
    { "jumps", jumps, 30, 0 },
    { "floats", floats, 200, 3 },
    { "returns with pop", returns_with_pop, 30, 9 },
    { "below the stack", below_the_stack, 30, 9 },
    { "odd stacks", odd_stacks, 60, 11 },
    { "switches of stacks", switches_of_stacks, 60, 0 },
    { "flags behind blocks", flags_behind_blocks, 20, 3 },
    { 0 },
};
