/* SHA-256 (FIPS 180-4) of short secrets, so that what is kept or written down of one does not give
 * it away: the resume tokens of players (spec/client.md). Plain code without a library, since both
 * users of shared/base and their tests link it; not for long data, whose checksums are arb_hash.
 */
#ifndef ARB_DIGEST_H
#define ARB_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARB_DIGEST_BYTES = 32, ARB_DIGEST_INPUT_MAX = 55 /* one block */ };

/* `count` at most ARB_DIGEST_INPUT_MAX (asserted). */
void arb_digest(const uint8_t *bytes, size_t count, uint8_t out[ARB_DIGEST_BYTES]);

/* Takes as long whatever the bytes are. */
bool arb_digest_equal(const uint8_t *a, const uint8_t *b, size_t count);

#endif
