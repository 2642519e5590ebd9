#include "export/gzip.h"

/* Samples of many threads take a tenth more room than at level 6, and 0.6 of the time. */
enum { LEVEL = 1, MEMORY = 8 };
enum { GZIP_FORMAT = 15 + 16 }; /* deflateInit2: the largest window, gzip header */
enum { CHUNK = 1 << 18 };

void gzip_begin(struct gzip *g, struct buf *out)
{
    *g = (struct gzip){.out = out};
    g->failed = deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_FORMAT, MEMORY, Z_DEFAULT_STRATEGY) !=
                Z_OK;
}

/* All of the input, which is a chunk at most, and with Z_FINISH all that is to come. */
static void compress_chunk(struct gzip *g, const uint8_t *bytes, size_t size, int flush)
{
    int status = Z_OK;
    /* zlib does not write to its input */
    g->z.next_in = (uint8_t *)(uintptr_t)bytes;
    g->z.avail_in = (uInt)size;
    do {
        g->z.next_out = buf_reserve(g->out, CHUNK);
        g->z.avail_out = CHUNK;
        g->failed = g->failed || !g->z.next_out;
        if (g->failed)
            return;
        status = deflate(&g->z, flush);
        g->failed = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR;
        g->out->size += CHUNK - g->z.avail_out;
    } while (!g->failed && !g->z.avail_out);
    g->failed = g->failed || (flush == Z_FINISH && status != Z_STREAM_END);
}

void gzip_put(struct gzip *g, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size && !g->failed; at += CHUNK)
        compress_chunk(g, bytes + at, size - at < CHUNK ? size - at : CHUNK, Z_NO_FLUSH);
}

bool gzip_end(struct gzip *g)
{
    if (!g->failed)
        compress_chunk(g, NULL, 0, Z_FINISH);
    deflateEnd(&g->z);
    return !g->failed;
}
