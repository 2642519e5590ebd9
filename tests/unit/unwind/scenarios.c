#include "scenarios.h"

#include <alloca.h>
#include <dlfcn.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static struct {
    unsigned char *(*sha256)(const unsigned char *, size_t, unsigned char *);
    unsigned char *(*sha512)(const unsigned char *, size_t, unsigned char *);
    unsigned char *(*sha1)(const unsigned char *, size_t, unsigned char *);
    int (*aes_key)(const unsigned char *, int, void *);
    void (*aes_block)(const unsigned char *, unsigned char *, const void *);
    void *(*bn_new)(void);
    void *(*bn_context)(void);
    int (*bn_random)(void *, int, int, int);
    int (*bn_mod_exp)(void *, const void *, const void *, const void *, void *);
    int (*compress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
    int (*uncompress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
    unsigned (*crc)(const unsigned char *, size_t, unsigned);
    uint64_t (*crc64)(const unsigned char *, size_t, uint64_t);
    int (*lzma)(uint32_t, int, const void *, const unsigned char *, size_t, unsigned char *,
                size_t *, size_t);
    double (*sine)(double);
    double (*power)(double, double);
    int (*throwing)(int);
} f;

static unsigned char bytes[4096], out[8192];
static void *numbers[4], *number_context;
static volatile int sink;

static void *open_library(const char *name)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "not covered here: %s\n", dlerror());
    return library;
}

static void prepare_crypto(void)
{
    void *l = open_library("libcrypto.so.3");
    if (!l)
        return;
    *(void **)&f.sha256 = dlsym(l, "SHA256");
    *(void **)&f.sha512 = dlsym(l, "SHA512");
    *(void **)&f.sha1 = dlsym(l, "SHA1");
    *(void **)&f.aes_key = dlsym(l, "AES_set_encrypt_key");
    *(void **)&f.aes_block = dlsym(l, "AES_encrypt");
    *(void **)&f.bn_new = dlsym(l, "BN_new");
    *(void **)&f.bn_context = dlsym(l, "BN_CTX_new");
    *(void **)&f.bn_random = dlsym(l, "BN_rand");
    *(void **)&f.bn_mod_exp = dlsym(l, "BN_mod_exp");
    f.sha256(bytes, 64, out);
    f.sha512(bytes, 64, out);
    f.sha1(bytes, 64, out);
    number_context = f.bn_context();
    for (int i = 0; i < 4; i++) {
        numbers[i] = f.bn_new();
        f.bn_random(numbers[i], i == 2 ? 16 : 512, 0, 1); /* top bit set, odd */
    }
}

void scenarios_prepare(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i >> 3 ^ i);
    prepare_crypto();
    void *l = open_library("libz.so.1");
    if (l) {
        *(void **)&f.compress = dlsym(l, "compress");
        *(void **)&f.uncompress = dlsym(l, "uncompress");
    }
    l = open_library("liblzma.so.5");
    if (l) {
        *(void **)&f.crc = dlsym(l, "lzma_crc32");
        *(void **)&f.crc64 = dlsym(l, "lzma_crc64");
        *(void **)&f.lzma = dlsym(l, "lzma_easy_buffer_encode");
    }
    l = open_library("libm.so.6");
    if (l) {
        *(void **)&f.sine = dlsym(l, "sin");
        *(void **)&f.power = dlsym(l, "pow");
    }
    l = open_library(THROWING_LIBRARY);
    if (l) {
        *(void **)&f.throwing = dlsym(l, "throwing_run");
        f.throwing(1); /* the first throw initializes the loader's search for .eh_frame_hdr */
    }
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sorting(void)
{
    int values[80];
    for (int i = 0; i < 80; i++)
        values[i] = i * 7919 % 1009;
    qsort(values, 80, sizeof values[0], compare);
    int key = 500;
    sink += bsearch(&key, values, 80, sizeof values[0], compare) != NULL;
}

static void formatting(void)
{
    char text[256];
    sink += snprintf(text, sizeof text, "%d %s %.17g %a %-20s|%5c", 12345, "abc", 3.14159e30, 1e-30,
                     "left", 'x');
    sink += (int)strtod("2.2250738585072011e-38", NULL);
    sink += (int)strtoul("123456789", NULL, 10);
    sink += sscanf("17 hello 4.5", "%d %*s %*f", &(int){0});
}

static void strings(void)
{
    char a[700], b[700];
    for (size_t n = 0; n < 600; n += n < 20 ? 1 : 83) {
        memset(a, 'a', n);
        a[n] = 0;
        memcpy(b, a, n + 1);
        memmove(b + 1, b, n);
        sink += (int)strlen(a) + memcmp(a, b, n) + strcmp(a, b);
        sink += strchr(a, 'z') == NULL;
        sink += memchr(a, 'z', n) == NULL;
        sink += strrchr(a, 'a') != NULL;
    }
    sink += strstr("a long haystack with a needle in it", "needle") != NULL;
    sink += (int)strcspn("abcdefgh", "hg");
}

static void allocation(void)
{
    void *p[40];
    for (int i = 0; i < 40; i++)
        p[i] = malloc((size_t)(i * i * 3 + 1));
    for (int i = 0; i < 40; i += 2)
        p[i] = realloc(p[i], (size_t)(i * 100 + 50));
    for (int i = 39; i >= 0; i--)
        free(p[i]);
    free(malloc(300000));
    free(aligned_alloc(256, 512));
}

static void expressions(void)
{
    regex_t r;
    regmatch_t m[3];
    if (regcomp(&r, "^([a-z]+)[0-9]*(x|yz)+$", REG_EXTENDED) == 0) {
        sink += regexec(&r, "hello123xyzx", 3, m, 0);
        regfree(&r);
    }
}

static void cryptography(void)
{
    if (!f.sha256)
        return;
    uint64_t key[64];
    f.sha256(bytes, 500, out);
    f.sha512(bytes, 500, out);
    f.sha1(bytes, 500, out);
    f.aes_key(bytes, 128, key);
    for (int i = 0; i < 4; i++)
        f.aes_block(bytes + 16 * i, out, key);
    f.bn_mod_exp(numbers[0], numbers[1], numbers[2], numbers[3], number_context);
}

static void compression(void)
{
    unsigned long size = sizeof out, back = sizeof bytes;
    size_t position = 0;
    if (f.compress) {
        f.compress(out, &size, bytes, 200);
        f.uncompress(bytes, &back, out, size);
    }
    if (f.crc)
        sink += (int)(f.crc(bytes, 777, 0) + (unsigned)f.crc64(bytes, 777, 0));
    if (f.lzma)
        sink += f.lzma(0, 1, NULL, bytes, 200, out, &position, sizeof out);
    if (f.sine)
        sink += (int)(f.sine(1e22) + f.power(1.0001, 12345.6));
}

/* The address of a handler's local depends on how far down the interrupted code was. */
static void handler(int signal_number)
{
    char text[64];
    sink += snprintf(text, sizeof text, "signal %d", signal_number);
}

static void signals(void)
{
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    raise(SIGUSR1);
}

/* Called nowhere else, so that the first call goes through the loader's resolver. */
static void lazy_binding(void)
{
    double d[2] = {1.5, 2.5};
    sink += ffsll(64) + (int)labs(-5L) + (int)strtoll("12", NULL, 0);
    sink += (int)(drand48() + erand48((unsigned short[3]){1, 2, 3}));
    sink += l64a(12345) != NULL;
    sink += strpbrk("abcdef", "fe") != NULL;
    sink += (int)(strnlen("abc", 10) + (size_t)d[sink & 1]);
    sink += memccpy(out, "abcdef", (int)(uint8_t)100, 6) != NULL;
}

static void clocks(void)
{
    struct timespec now;
    struct timeval day;
    for (int i = 0; i < 3; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        gettimeofday(&day, NULL);
        sink += (int)time(NULL);
    }
}

/* Realigns its stack and has a frame of variable size: the CFA is loaded from memory. */
__attribute__((noinline)) static int realigned(size_t n, int depth)
{
    _Alignas(64) volatile char block[64];
    volatile char *more = alloca(n);
    block[n % 64] = (char)n;
    more[n / 2] = (char)depth;
    return depth == 0 ? block[0] + (int)(((uintptr_t)block) % 64)
                      : realigned(n + 24, depth - 1) + more[n / 2];
}

/* Two functions in assembly, as glibc has them: the first falls through padding, which its FDE
 * leaves out, into the second. */
int padded_first(int value);
__asm__(".text\n"
        ".p2align 6\n"
        ".type padded_first, @function\n"
        "padded_first:\n"
        ".cfi_startproc\n"
        "    mov %edi, %eax\n"
        "    test %eax, %eax\n"
        ".cfi_endproc\n"
        ".size padded_first, . - padded_first\n"
        ".p2align 6\n"
        ".type padded_second, @function\n"
        "padded_second:\n"
        ".cfi_startproc\n"
        "    push %rax\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    pop %rax\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size padded_second, . - padded_second\n");

static jmp_buf jump;

__attribute__((noinline)) static void jumper(int depth)
{
    if (depth > 0)
        jumper(depth - 1);
    if (sink != INT32_MIN)
        longjmp(jump, 1);
}

static void jumps(void)
{
    if (setjmp(jump) == 0)
        jumper(4);
}

void scenarios_run(void)
{
    sink += padded_first(1);
    sorting();
    formatting();
    strings();
    allocation();
    expressions();
    cryptography();
    compression();
    signals();
    lazy_binding();
    clocks();
    sink += realigned(16, 5);
    jumps();
    if (f.throwing)
        sink += f.throwing(5);
}
