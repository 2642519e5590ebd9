/* The triggers read and write through libc's streams. */
/* Of some functions <stdio.h> has inline definitions, for callers. */
#ifndef __NO_INLINE__
#define __NO_INLINE__
#endif
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "runtime/interpose/io.h"
#include "runtime/interpose/real.h"

#undef fread_unlocked
#undef fwrite_unlocked

/* ---- reading, for shadows ---- What a call has read inside libc can be told where it was one
 * piece, which is in the stream's buffer now: */

struct stream_call {
    struct input_request outer;
    struct input_call of;
    const char *at, *end; /* of what was unread in the buffer */
    bool numbered, ended;
};

static inline void stream_begin(struct stream_call *s, const FILE *f, const void *frame,
                                const void *returns)
{
    s->numbered = input_numbered;
    if (!s->numbered)
        return;
    s->of = (struct input_call){.wanted = {.system_call = SYS_read,
                                           .fd = f->_fileno,
                                           .flags = INPUT_STREAM,
                                           .frame = (uint64_t)frame,
                                           .returns = (uint64_t)returns}};
    s->at = f->_IO_read_ptr;
    s->end = f->_IO_read_end;
    s->ended = f->_flags & _IO_EOF_SEEN;
    input_begin(&s->outer, &s->of.wanted);
}

/*      before  [ ... at ──O── end ]     used = O + (L - R): one piece of L bytes, or none (L = 0)
 *      after   [ base ──L-R── at ──R── end ]
 * What was unread and what came are together what was used and what is unread now: if there was a
 * piece more, used is more. Where another thread may use the stream meanwhile, nothing can be
 * told. */
static void stream_end(struct stream_call *s, const FILE *f, uint64_t used)
{
    enum { BACKED_UP = 0x100, FAILED = _IO_ERR_SEEN };
    const char *base = f->_IO_read_base, *at = f->_IO_read_ptr, *end = f->_IO_read_end;
    bool ends = f->_flags & _IO_EOF_SEEN && !s->ended;
    if (!ends && end == s->end && at == s->at + used) {
        input_leave(&s->outer); /* all of it was in the buffer */
        return;
    }
    uint64_t was = (uint64_t)(s->end - s->at), length = (uint64_t)(end - base),
             rest = (uint64_t)(end - at);
    s->of.unknown = f->_flags & (BACKED_UP | FAILED) || base != f->_IO_buf_base ||
                    used + rest != was + length ||
                    __atomic_load_n(&rt.slots_used, __ATOMIC_ACQUIRE) > 1;
    s->of.to[0] = (struct iovec){(void *)(uintptr_t)base, length};
    s->of.pieces = 1;
    s->of.fixed = length;
    input_end(&s->outer, &s->of, !ends);
}

/* The same call as `call`, which reads from f; `used`: bytes that it has taken, by its `result`. */
#define STREAMED(f, call, used)                                                                    \
    ({                                                                                             \
        struct stream_call stream;                                                                 \
        stream_begin(&stream, f, __builtin_frame_address(0), __builtin_return_address(0));         \
        __typeof__(call) result = (call);                                                          \
        if (stream.numbered)                                                                       \
            stream_end(&stream, f, (uint64_t)(used));                                              \
        result;                                                                                    \
    })

/* ---- reading ---- */

#define READ_BLOCK(name, parameters, arguments)                                                    \
    EXPORT size_t name parameters                                                                  \
    {                                                                                              \
        size_t got = STREAMED(f, REAL(name) arguments, result * size);                             \
        io_stream_moved(TRIGGER_READ, f, (int64_t)(got * size));                                   \
        return got;                                                                                \
    }
size_t __fread_chk(void *restrict, size_t, size_t, size_t, FILE *restrict);
size_t __fread_unlocked_chk(void *restrict, size_t, size_t, size_t, FILE *restrict);

READ_BLOCK(fread, (void *restrict to, size_t size, size_t count, FILE *restrict f),
           (to, size, count, f))
READ_BLOCK(fread_unlocked, (void *restrict to, size_t size, size_t count, FILE *restrict f),
           (to, size, count, f))
READ_BLOCK(__fread_chk,
           (void *restrict to, size_t room, size_t size, size_t count, FILE *restrict f),
           (to, room, size, count, f))
READ_BLOCK(__fread_unlocked_chk,
           (void *restrict to, size_t room, size_t size, size_t count, FILE *restrict f),
           (to, room, size, count, f))

/* A line with a NUL in it counts up to there. */
#define READ_LINE(name, parameters, arguments)                                                     \
    EXPORT char *name parameters                                                                   \
    {                                                                                              \
        char *line = STREAMED(f, REAL(name) arguments, result ? strlen(result) : 0);               \
        if (line && io_counts(TRIGGER_READ))                                                    \
            io_stream_moved(TRIGGER_READ, f, (int64_t)strlen(line));                               \
        return line;                                                                               \
    }
char *__fgets_chk(char *restrict, size_t, int, FILE *restrict);
char *__fgets_unlocked_chk(char *restrict, size_t, int, FILE *restrict);

READ_LINE(fgets, (char *restrict to, int size, FILE *restrict f), (to, size, f))
READ_LINE(fgets_unlocked, (char *restrict to, int size, FILE *restrict f), (to, size, f))
READ_LINE(__fgets_chk, (char *restrict to, size_t room, int size, FILE *restrict f),
          (to, room, size, f))
READ_LINE(__fgets_unlocked_chk, (char *restrict to, size_t room, int size, FILE *restrict f),
          (to, room, size, f))

#define READ_DELIMITED(name, parameters, arguments)                                                \
    EXPORT ssize_t name parameters                                                                 \
    {                                                                                              \
        ssize_t got = STREAMED(f, REAL(name) arguments, result > 0 ? result : 0);                  \
        io_stream_moved(TRIGGER_READ, f, got);                                                     \
        return got;                                                                                \
    }
READ_DELIMITED(getline, (char **restrict to, size_t *restrict size, FILE *restrict f),
               (to, size, f))
READ_DELIMITED(getdelim, (char **restrict to, size_t *restrict size, int end, FILE *restrict f),
               (to, size, end, f))
READ_DELIMITED(__getdelim, (char **restrict to, size_t *restrict size, int end, FILE *restrict f),
               (to, size, end, f))

#define READ_BYTE(name)                                                                            \
    EXPORT int name(FILE *f)                                                                       \
    {                                                                                              \
        int byte = STREAMED(f, REAL(name)(f), result != EOF);                                      \
        io_stream_moved(TRIGGER_READ, f, byte != EOF);                                             \
        return byte;                                                                               \
    }
READ_BYTE(fgetc)
READ_BYTE(getc)
READ_BYTE(fgetc_unlocked)
READ_BYTE(getc_unlocked)

EXPORT int getchar(void)
{
    return getc(stdin);
}

EXPORT int getchar_unlocked(void)
{
    return getc_unlocked(stdin);
}

/* ---- writing ---- */

#define WRITE_BLOCK(name)                                                                          \
    EXPORT size_t name(const void *restrict from, size_t size, size_t count, FILE *restrict f)     \
    {                                                                                              \
        size_t result = REAL(name)(from, size, count, f);                                          \
        io_stream_moved(TRIGGER_WRITE, f, (int64_t)(result * size));                               \
        return result;                                                                             \
    }
WRITE_BLOCK(fwrite)
WRITE_BLOCK(fwrite_unlocked)

#define WRITE_STRING(name)                                                                         \
    EXPORT int name(const char *restrict s, FILE *restrict f)                                      \
    {                                                                                              \
        int result = REAL(name)(s, f);                                                             \
        if (result >= 0 && io_counts(TRIGGER_WRITE))                                            \
            io_stream_moved(TRIGGER_WRITE, f, (int64_t)strlen(s));                                 \
        return result;                                                                             \
    }
WRITE_STRING(fputs)
WRITE_STRING(fputs_unlocked)

EXPORT int puts(const char *s)
{
    int result = REAL(puts)(s);
    if (result >= 0 && io_counts(TRIGGER_WRITE))
        io_stream_moved(TRIGGER_WRITE, stdout, (int64_t)strlen(s) + 1);
    return result;
}

#define WRITE_BYTE(name)                                                                           \
    EXPORT int name(int byte, FILE *f)                                                             \
    {                                                                                              \
        int result = REAL(name)(byte, f);                                                          \
        io_stream_moved(TRIGGER_WRITE, f, result != EOF);                                          \
        return result;                                                                             \
    }
WRITE_BYTE(fputc)
WRITE_BYTE(putc)
WRITE_BYTE(fputc_unlocked)
WRITE_BYTE(putc_unlocked)

EXPORT int putchar(int byte)
{
    return putc(byte, stdout);
}

EXPORT int putchar_unlocked(int byte)
{
    return putc_unlocked(byte, stdout);
}

/* ---- printing: what the variable ones (io_print.c) come to ---- */

int __vfprintf_chk(FILE *restrict, int, const char *restrict, va_list);
int __vprintf_chk(int, const char *restrict, va_list);
int __vdprintf_chk(int, int, const char *restrict, va_list);

EXPORT int vfprintf(FILE *restrict f, const char *restrict format, va_list list)
{
    int result = REAL(vfprintf)(f, format, list);
    io_stream_moved(TRIGGER_WRITE, f, result);
    return result;
}

EXPORT int vprintf(const char *restrict format, va_list list)
{
    return vfprintf(stdout, format, list);
}

EXPORT int __vfprintf_chk(FILE *restrict f, int flag, const char *restrict format, va_list list)
{
    int result = REAL(__vfprintf_chk)(f, flag, format, list);
    io_stream_moved(TRIGGER_WRITE, f, result);
    return result;
}

EXPORT int __vprintf_chk(int flag, const char *restrict format, va_list list)
{
    return __vfprintf_chk(stdout, flag, format, list);
}

EXPORT int vdprintf(int fd, const char *restrict format, va_list list)
{
    int result = REAL(vdprintf)(fd, format, list);
    io_moved(TRIGGER_WRITE, result);
    return result;
}

EXPORT int __vdprintf_chk(int fd, int flag, const char *restrict format, va_list list)
{
    int result = REAL(__vdprintf_chk)(fd, flag, format, list);
    io_moved(TRIGGER_WRITE, result);
    return result;
}
