/* How a daemon samples and what it keeps: by its command line, else by its file of settings, else
 * by default. The file has lines KEY = VALUE, with # before comments, whose keys are the names of
 * the options. It can be read again while the daemon runs.
 *
 * Context: the main thread. */
#ifndef PENUMBRA_CLI_DAEMON_SETTINGS_H
#define PENUMBRA_CLI_DAEMON_SETTINGS_H

#include "base/err.h"

struct daemon_settings {
    double rate;        /* samples a second of each CPU's time */
    double budget;      /* percent of the machine */
    double interval_ns; /* between two transactions */
    double keep_ns;     /* 0: for ever */
    double most_bytes;  /* 0: no bound */
    double spool_bytes; /* of what waits for the store */
};

#define DAEMON_CONFIG "/etc/penumbra/daemon.conf"

/* X(letter, field, key, units, least, most, default, its text, help) */
#define DAEMON_SETTINGS(X)                                                                         \
    X('F', rate, "rate", number_counts, 1, 10000, 19, "19",                                             \
      "samples a second of each CPU's time, as long as the budget allows it")                      \
    X(0, budget, "budget", number_percent, 0.01, 100, 0.5, "0.5%",                                    \
      "at most so much of the time of all CPUs for the daemon")                                    \
    X(0, interval_ns, "interval", number_durations, 1e8, 3600e9, 60e9, "60s",                         \
      "write what was sampled so often: a crash loses no more")                                    \
    X(0, keep_ns, "keep", number_durations, 0, 36600 * 86400e9, 30 * 86400e9, "30d",                  \
      "remove days that are older; 0 keeps them for ever")                                         \
    X(0, most_bytes, "max-size", number_bytes, 0, 1e15, 2e9, "2G",                                    \
      "remove the oldest days of a database that is larger; 0 is no bound")                        \
    X(0, spool_bytes, "spool-size", number_bytes, 1e6, 1e15, 2e8, "200M",                          \
      "with --store: give up the oldest batches of a larger spool")

/* Texts of the options, NULL where one was not given. */
struct daemon_words {
#define DAEMON_WORD(letter, field, ...) const char *field;
    DAEMON_SETTINGS(DAEMON_WORD)
#undef DAEMON_WORD
};

/* file: NULL: DAEMON_CONFIG, if there is one. False: *e, and *s is as it was. */
bool daemon_settings_read(struct daemon_settings *s, const struct daemon_words *given,
                          const char *file, struct err *e);

#endif
