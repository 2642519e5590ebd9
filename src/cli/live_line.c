#include "cli/live_line.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

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

/* A tenth above it is within what the account knows. */
static bool is_above(double percent, uint32_t budget_ppm)
{
    return budget_ppm && percent > 1.1 * budget_ppm / 1e4;
}

void put_overhead(struct buf *b, const struct profile_totals *t, double spent_ns,
                  uint32_t budget_ppm)
{
    double percent = t->cpu_ns ? 100 * spent_ns / (double)t->cpu_ns : 0;
    if (t->taken && !t->deliveries && spent_ns == 0)
        return; /* nothing of ours ran in the program */
    if (t->sandboxed)
        buf_printf(b, ", %.1f ms overhead", spent_ns / 1e6);
    else if (is_above(percent, budget_ppm))
        buf_printf(b, ", %.1f%% overhead, over the budget of %g%%", percent, budget_ppm / 1e4);
    else
        buf_printf(b, ", %.1f%% overhead", percent);
}

/* A program that has taken the terminal over (an editor, a password prompt) or another job in the
 * foreground must not be scribbled over. */
static bool terminal_is_free(void)
{
    struct termios t;
    return tcgetpgrp(STDERR_FILENO) == getpgrp() && !tcgetattr(STDERR_FILENO, &t) &&
           t.c_lflag & ICANON && t.c_lflag & ECHO;
}

static unsigned terminal_width(void)
{
    struct winsize w;
    return !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 1 ? w.ws_col : 80;
}

/* Shows text at the right end of the cursor's line, and puts the cursor back (DECSC, CHA, EL,
 * DECRC). What the program prints stands to the left and is neither moved nor overwritten, unless
 * it is long. */
static void show_at_right(const struct buf *text, unsigned width)
{
    struct buf line = {0};
    size_t shown = text->size < width ? text->size : width - 1;
    buf_printf(&line, "\0337\033[%uG\033[K", (unsigned)(width - shown));
    buf_put(&line, text->data, shown);
    buf_puts(&line, "\0338");
    if (buf_ok(&line)) {
        ssize_t ignored = write(STDERR_FILENO, line.data, line.size);
        (void)ignored;
    }
    buf_free(&line);
}

static void put_state(struct buf *b, const struct recording_live *live)
{
    const struct profile_totals *t = &live->totals;
    buf_printf(b, " [penumbra %.1f s: ", (double)live->elapsed_ns / 1e9);
    buf_put_count(b, t->taken, "sample", "samples");
    buf_puts(b, ", ");
    buf_put_count(b, live->processes, "process", "processes");
    buf_puts(b, ", ");
    buf_put_count(b, live->threads, "thread", "threads");
    if (t->dropped_all) {
        buf_printf(b, ", %llu dropped", (unsigned long long)t->dropped_all);
        put_drops(b, t->drops);
    }
    put_overhead(b, t, profile_spent_ns(t), live->budget_ppm);
    buf_puts(b, "]");
}

void live_line_draw(struct live_line *l, const struct recording_live *live)
{
    if (!terminal_is_free())
        return;
    struct buf text = {0};
    put_state(&text, live);
    if (buf_ok(&text)) {
        show_at_right(&text, terminal_width());
        l->widest = text.size > l->widest ? text.size : l->widest;
    }
    buf_free(&text);
}

void live_line_erase(struct live_line *l)
{
    struct buf blank = {0};
    if (!l->widest || !terminal_is_free())
        return;
    for (size_t i = 0; i < l->widest; i++)
        buf_put_u8(&blank, ' ');
    if (buf_ok(&blank))
        show_at_right(&blank, terminal_width());
    buf_free(&blank);
    l->widest = 0;
}
