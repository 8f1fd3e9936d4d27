/* A first client: joins, runs about with the trigger held, and tells once a second what it sees,
 * until the match is over. The listing of shared/client/README.md. */
#define _POSIX_C_SOURCE 199309L /* for nanosleep alone */
#include <arbiter_client.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void tell(const struct arbiter_view *view)
{
    printf("tick %.0f: %u entities; I am at (%.1f, %.1f)\n", view->server_tick,
           (unsigned)view->entity_count, (double)view->own.x, (double)view->own.y);
    for (uint32_t i = 0; i < view->player_count; i++) {
        printf("  %-16s %d\n", view->players[i].name, (int)view->players[i].score);
    }
}

int main(int argc, char **argv)
{
    char address[ARBITER_ADDRESS_BYTES];
    struct arbiter_config config;
    arbiter_config_default(&config);
    snprintf(config.name, sizeof config.name, "first");
    struct arbiter_client *client = arbiter_client_create(&config);
    if (client == NULL || argc != 3 || !arbiter_resolve(argv[1], address) ||
        !arbiter_client_connect(client, address, (uint16_t)atoi(argv[2]), arbiter_now_ns())) {
        fprintf(stderr, "usage: first_client HOST PORT\n");
        return EXIT_FAILURE;
    }
    struct arbiter_view view = {0};
    for (uint32_t frame = 0; view.game != ARBITER_GAME_RESULT; frame++) {
        struct arbiter_input input = {.buttons = ARBITER_BUTTON_FIRE};
        input.aim = (uint16_t)(frame * 300);
        input.move_x = frame / 60 % 2 == 0 ? 127 : -127;
        input.move_y = frame / 30 % 2 == 0 ? 127 : -127;
        arbiter_client_input(client, &input);
        arbiter_client_poll(client, arbiter_now_ns());
        arbiter_client_sample(client, arbiter_now_ns(), &view);

        for (uint32_t i = 0; i < view.event_count; i++) {
            if (view.events[i].kind == ARBITER_EVENT_HIT && view.events[i].a == view.own_slot) {
                printf("a hit for %d points\n", (int)view.events[i].c);
            }
        }
        if (view.connection == ARBITER_OFFLINE) {
            struct arbiter_disconnect_info info;
            arbiter_client_disconnect_info(client, &info);
            printf("%s\n", info.text);
            break;
        }
        if (frame % 60 == 0) {
            tell(&view);
        }
        nanosleep(&(struct timespec){0, 16000000}, NULL); /* a game draws here */
    }
    arbiter_client_destroy(client);
    return EXIT_SUCCESS;
}
