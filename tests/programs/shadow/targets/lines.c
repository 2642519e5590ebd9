/* Reads lines from a pipe that a child writes in pieces of many sizes, in turns by getline, fgets,
 * fread and getc, and works on each in one of two functions: what was read decides in which. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers.h"

enum { WIDTH = 12 }; /* of a line, with its end */

static void write_lines(int fd, uint32_t lines)
{
    char *text = malloc((size_t)lines * WIDTH + 1);
    size_t size = (size_t)lines * WIDTH, done = 0;
    for (uint32_t i = 0; i < lines; i++)
        snprintf(text + (size_t)i * WIDTH, WIDTH + 1, "%011u\n", nth(i));
    for (uint32_t i = 0; done < size; i++) {
        size_t now = nth(i) % 97 + 1;
        ssize_t n = write(fd, text + done, now < size - done ? now : size - done);
        if (n <= 0)
            _exit(3);
        done += (size_t)n;
    }
    _exit(0);
}

/* The next line, at `to`. */
static int line_get(FILE *f, uint32_t how, char **to, size_t *room)
{
    char *at = *to;
    int byte = 0;
    switch (how % 4) {
    case 0: return getline(to, room, f) == WIDTH;
    case 1: return fgets(at, WIDTH + 1, f) != NULL;
    case 2: at[WIDTH] = 0; return fread(at, 1, WIDTH, f) == WIDTH;
    default:
        while (byte != '\n' && (byte = getc(f)) != EOF)
            *at++ = (char)byte;
        *at = 0;
        return byte == '\n';
    }
}

int main(int argc, char **argv)
{
    uint32_t lines = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000;
    size_t room = 128;
    char *line = malloc(room);
    int end[2], status = 0;
    if (pipe(end) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        write_lines(end[1], lines);
    close(end[1]);
    FILE *f = fdopen(end[0], "r");
    static char buffer[64]; /* so that it is often empty */
    setvbuf(f, buffer, _IOFBF, sizeof buffer);
    uint64_t x = 1;
    for (uint32_t i = 0; i < lines; i++) {
        if (!line_get(f, i, &line, &room))
            return 2;
        uint32_t value = (uint32_t)strtoul(line, NULL, 10);
        if (value != nth(i))
            work_wrong(x);
        x = value % 4 == 0 ? work_odd(x + value) : work_even(x + value);
    }
    if (getc(f) != EOF || waitpid(child, &status, 0) != child || status)
        return 4;
    printf("%llx\n", (unsigned long long)x);
    return 0;
}
