#include "cli/live_line.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "profile/spool_read.h"

#define REDRAW_NS UINT64_C(250000000)

void put_count(struct buf *b, uint64_t n, const char *one, const char *many)
{
    buf_printf(b, "%llu %s", (unsigned long long)n, n == 1 ? one : many);
}

void put_drops(struct buf *b, const uint64_t drops[DROP_COUNT])
{
    const char *before = " (";
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        if (!drops[i])
            continue;
        buf_printf(b, "%s%s %llu", before, profile_drop_name(i), (unsigned long long)drops[i]);
        before = ", ";
    }
    if (before[0] == ',')
        buf_puts(b, ")");
}

double overhead_percent(const struct profile_totals *t, uint32_t delivery_ns, double cost_ns)
{
    if (!t->cpu_ns)
        return 0;
    double spent = cost_ns + (double)t->deliveries * delivery_ns;
    return 100 * spent / (double)t->cpu_ns;
}

void live_line_init(struct live_line *l, bool quiet)
{
    *l = (struct live_line){.on = !quiet && isatty(STDERR_FILENO)};
}

/* A program that has taken the terminal over (an editor, a password prompt) or another job in the
 * foreground must not be scribbled over. */
static bool terminal_is_free(void)
{
    struct termios t;
    return tcgetpgrp(STDERR_FILENO) == getpgrp() && !tcgetattr(STDERR_FILENO, &t) &&
           t.c_lflag & ICANON && t.c_lflag & ECHO;
}

static void write_out(const struct buf *b)
{
    if (buf_ok(b) && b->size) {
        ssize_t ignored = write(STDERR_FILENO, b->data, b->size);
        (void)ignored;
    }
}

static unsigned terminal_width(void)
{
    struct winsize w;
    return !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 1 ? w.ws_col - 1u : 79;
}

void live_line_draw(struct live_line *l, const struct spool *s, uint64_t now_ns,
                    uint64_t elapsed_ns)
{
    if (!l->on || now_ns - l->last_ns < REDRAW_NS)
        return;
    l->last_ns = now_ns;
    if (!terminal_is_free())
        return;
    struct profile_totals t;
    uint32_t processes, threads;
    spool_totals(s, &t, &processes, &threads);
    struct buf text = {0};
    buf_printf(&text, "penumbra: %.1f s  ", (double)elapsed_ns / 1e9);
    put_count(&text, t.taken, "sample", "samples");
    buf_puts(&text, "  ");
    put_count(&text, processes, "process", "processes");
    buf_puts(&text, "  ");
    put_count(&text, threads, "thread", "threads");
    buf_printf(&text, "  %.1f%% overhead",
               overhead_percent(&t, spool_header(s)->config.delivery_ns, (double)t.cost_ns));
    if (t.dropped_all) {
        buf_printf(&text, "  %llu dropped", (unsigned long long)t.dropped_all);
        put_drops(&text, t.drops);
    }
    struct buf line = {0};
    unsigned width = terminal_width();
    buf_puts(&line, "\r\033[K");
    buf_put(&line, text.data, text.size < width ? text.size : width);
    /* Back to the first column, so that the program's own output begins there. */
    buf_puts(&line, "\r");
    write_out(&line);
    l->drawn = true;
    buf_free(&text);
    buf_free(&line);
}

void live_line_erase(struct live_line *l)
{
    struct buf line = {0};
    if (l->drawn && terminal_is_free()) {
        buf_puts(&line, "\r\033[K");
        write_out(&line);
    }
    buf_free(&line);
    l->drawn = false;
}
