/* The smallest game: joins the match at 127.0.0.1, looks at it once and leaves. Status 0: it was
 * there. */
#include <arbiter_client.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    if (argc != 2 || !client) return EXIT_FAILURE;
    const uint64_t start = arbiter_now_ns();
    arbiter_client_connect(client, "127.0.0.1", (uint16_t)atoi(argv[1]), start);
    struct arbiter_view view = {0};
    while (view.entity_count == 0 && arbiter_now_ns() - start < 120000000000U) {
        arbiter_client_poll(client, arbiter_now_ns());
        arbiter_client_sample(client, arbiter_now_ns(), &view);
    }
    printf("%s: %u entities\n", arbiter_client_mode(client), (unsigned)view.entity_count);
    arbiter_client_destroy(client);
    return view.entity_count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
