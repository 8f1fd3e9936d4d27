/* The smallest game: joins the match at 127.0.0.1, looks at it once and leaves. Status 0: it was
 * there. */
#include <arbiter_client.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    if (argc != 2 || !client) return EXIT_FAILURE;
    const uint64_t start = now_ns();
    arbiter_client_connect(client, "127.0.0.1", (uint16_t)atoi(argv[1]), start);
    struct arbiter_view view = {0};
    while (view.entity_count == 0 && now_ns() - start < 5000000000U) {
        arbiter_client_poll(client, now_ns());
        arbiter_client_sample(client, now_ns(), &view);
    }
    printf("%s: %u entities\n", arbiter_client_mode(client), (unsigned)view.entity_count);
    arbiter_client_destroy(client);
    return view.entity_count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
