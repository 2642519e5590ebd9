#include "profile/profile.h"

#define REASON_NAME(id, name, sentence) [id] = {name, sentence},

struct reason {
    const char *name, *sentence;
};

static const struct reason drops[DROP_COUNT] = {DROP_REASONS(REASON_NAME)};
static const struct reason truncations[TRUNC_COUNT] = {
    [TRUNC_NONE] = {"none", "the stack is complete"}, TRUNCATION_REASONS(REASON_NAME)};

static const struct reason lefts[LEFT_COUNT] = {LEFT_REASONS(REASON_NAME)};
static const struct reason latencies[LATENCY_KIND_COUNT] = {LATENCY_KINDS(REASON_NAME)};

const char *profile_latency_name(unsigned kind)
{
    return kind < LATENCY_KIND_COUNT ? latencies[kind].name : "?";
}

const char *profile_latency_sentence(unsigned kind)
{
    return kind < LATENCY_KIND_COUNT ? latencies[kind].sentence : "?";
}

const char *profile_drop_name(unsigned drop)
{
    return drop < DROP_COUNT ? drops[drop].name : "?";
}

const char *profile_drop_sentence(unsigned drop)
{
    return drop < DROP_COUNT ? drops[drop].sentence : "?";
}

const char *profile_left_name(unsigned why)
{
    return why < LEFT_COUNT ? lefts[why].name : "?";
}

const char *profile_left_sentence(unsigned why)
{
    return why < LEFT_COUNT ? lefts[why].sentence : "?";
}

const char *profile_truncation_name(unsigned truncation)
{
    return truncation < TRUNC_COUNT ? truncations[truncation].name : "?";
}

const char *profile_truncation_sentence(unsigned truncation)
{
    return truncation < TRUNC_COUNT ? truncations[truncation].sentence : "?";
}
