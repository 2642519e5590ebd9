#include <fcntl.h>

#include "guest/image.h"
#include "sigsafe/sys.h"

enum { CHUNK = 512 };

/* A line of /proc/thread-self/maps, byte by byte, as no line may have room on a signal stack:
 *
 *     7f0e4c000000-7f0e4c021000 r-xp 00001000 fe:01 131337      /usr/lib/lib x.so
 *     lo           hi           ...four more fields, then blanks and the path to the line's end */
struct line {
    uint64_t lo, hi;
    uint32_t field; /* 0: lo, 1: hi, 2 to 5: passed over, 6: the path */
    bool blank;     /* the last byte was one */
    uint64_t length; /* of the path */
};

static uint64_t hex_as(char c)
{
    return c <= '9' ? (uint64_t)(c - '0') : (uint64_t)(c - 'a' + 10);
}

static void line_put_as(struct line *l, char c, char *path, uint64_t size)
{
    enum { PATH = 6 };
    if (l->field == PATH) {
        if (l->length + 1 < size)
            path[l->length++] = c;
    } else if (c == ' ') {
        l->blank = true;
    } else if (l->field == 0) {
        if (c == '-')
            l->field = 1;
        else
            l->lo = l->lo << 4 | hex_as(c);
    } else {
        l->field += l->blank;
        l->blank = false;
        if (l->field == 1)
            l->hi = l->hi << 4 | hex_as(c);
        else if (l->field == PATH)
            path[l->length++] = c;
    }
}

static void line_reset_as(struct line *l)
{
    l->lo = l->hi = l->length = 0;
    l->field = 0;
    l->blank = false;
}

void image_path_undelete_as(char *path)
{
    static const char mark[] = " (deleted)";
    const uint64_t bytes = sizeof mark - 1;
    uint64_t length = 0;
    while (path[length])
        length++;
    if (length <= bytes)
        return;
    for (uint64_t i = 0; i < bytes; i++)
        if (path[length - bytes + i] != mark[i])
            return;
    path[length - bytes] = 0;
}

static bool find_as(int fd, uint64_t address, char *path, uint64_t size)
{
    char chunk[CHUNK];
    struct line line;
    line_reset_as(&line);
    for (;;) {
        long n = sys_call3_as(SYS_read, fd, (long)chunk, CHUNK);
        if (n <= 0)
            return false;
        for (long i = 0; i < n; i++) {
            if (chunk[i] != '\n') {
                line_put_as(&line, chunk[i], path, size);
                continue;
            }
            if (address >= line.lo && address < line.hi) {
                path[line.length] = 0;
                image_path_undelete_as(path);
                return path[0] == '/';
            }
            line_reset_as(&line);
        }
    }
}

bool image_path_as(uint64_t address, char *path, uint64_t size)
{
    if (guest_quiet_as())
        return false;
    /* Not /proc/self: that is the first thread's, which may have ended. */
    long fd = sys_call6_as(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/maps",
                           O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    bool found = find_as((int)fd, address, path, size);
    sys_call3_as(SYS_close, fd, 0, 0);
    return found;
}
