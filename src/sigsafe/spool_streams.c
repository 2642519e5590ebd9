#include "sigsafe/spool_streams.h"

static void exchange(struct spool_stream *row, unsigned a, unsigned b)
{
    int64_t stride = row->strides[a];
    uint64_t times = row->times[a];
    row->strides[a] = row->strides[b];
    row->times[a] = row->times[b];
    row->strides[b] = stride;
    row->times[b] = times;
}

static void stride_note(struct spool_stream *row, int64_t stride)
{
    unsigned i = 0;
    while (i < STREAM_STRIDES && row->times[i] && row->strides[i] != stride)
        i++;
    if (i == STREAM_STRIDES) {
        i--;
        row->others += row->times[i];
        row->times[i] = 0;
    }
    row->strides[i] = stride;
    row->times[i]++;
    if (i && row->times[i] > row->times[i - 1])
        exchange(row, i, i - 1);
}

void stream_access_as(struct spool_stream *row, uint64_t address)
{
    int64_t stride = (int64_t)(address - row->last);
    if (!row->count++) {
        row->lo = row->hi = row->last = address;
        return;
    }
    row->runs += row->count == 2 || stride != row->stride;
    row->same_line += address / STREAM_LINE == row->last / STREAM_LINE;
    row->stride = stride;
    row->last = address;
    if (address < row->lo)
        row->lo = address;
    if (address > row->hi)
        row->hi = address;
    stride_note(row, stride);
}
