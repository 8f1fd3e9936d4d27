/* libFuzzer on the client library: the input is a list of messages, each with its length in front,
 * that a server says to a client which is connected, or has its welcome already (first byte). A
 * message kind the mutator does not find by itself is in the corpus of samples (README.md).
 */
#include "tests/support/fake_player.h"

#include <stdlib.h>

enum { CONNECTED_US = 1000000, WELCOMED_US = 2000000, HEAD = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t length_of(const uint8_t *bytes)
{
    return bytes[0] | (size_t)(bytes[1] & 7) << 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) return 0;
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 1, .movers = 2});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake->withhold = bytes[0] % 2 != 0;
    fake_run(fake, client, bytes[0] % 4 < 2 ? CONNECTED_US / 20 : WELCOMED_US, 60, NULL, NULL);
    uint64_t now_ns = fake_now_ns(fake);
    for (size_t at = 1; at + HEAD <= size && client->connection != ARBITER_OFFLINE;) {
        size_t length = length_of(bytes + at);
        at += HEAD;
        length = length < size - at ? length : size - at;
        if (length > 0) arb_client_message(client, bytes + at, length, now_ns);
        at += length;
        now_ns += 16666667;
        arbiter_client_poll(client, now_ns);
        arbiter_client_sample(client, now_ns, &view);
    }
    arbiter_client_destroy(client);
    fake_destroy(fake);
    return 0;
}
