/* Sections that are compressed with zstd (ELFCOMPRESS_ZSTD), which elfutils reads from 0.189 on
 * only, and only if it is built so: a copy of the file, in which they are not compressed.
 *
 *     | the file, as it is, but for its section headers | section | section | ...
 *
 * Context: ordinary code. Safe on any file.
 * Ownership: takes the descriptor that it is given, and returns one. */
#ifndef PENUMBRA_SYMBOLS_UNPACK_H
#define PENUMBRA_SYMBOLS_UNPACK_H

/* The same descriptor if there is nothing to be done, or if it cannot be. */
int unpack_debug(int fd);

#endif
