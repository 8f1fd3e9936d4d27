/* A game with an ENet of its own beside the library's: its own two hosts exchange a message while
 * the client joins the match at 127.0.0.1. Status 0: both worked. */
#include <arbiter_client.h>
#include <enet/enet.h>

#include <stdio.h>
#include <stdlib.h>

static ENetHost *make_host(uint16_t *port)
{
    ENetAddress address = {.port = 0};
    ENetHost *host = NULL;
    enet_address_set_host(&address, "127.0.0.1");
    host = enet_host_create(&address, 2, 1, 0, 0);
    if (host == NULL || enet_socket_get_address(host->socket, &address) != 0) return NULL;
    *port = address.port;
    return host;
}

/* One turn of a host; sends once it is connected, true when something was received. */
static int serve(ENetHost *host)
{
    ENetEvent event;
    int received = 0;
    while (enet_host_service(host, &event, 1) > 0) {
        if (event.type == ENET_EVENT_TYPE_CONNECT) {
            enet_peer_send(event.peer, 0, enet_packet_create("own", 3, ENET_PACKET_FLAG_RELIABLE));
        } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            received = event.packet->dataLength == 3;
            enet_packet_destroy(event.packet);
        }
    }
    return received;
}

int main(int argc, char **argv)
{
    uint16_t port = 0, unused = 0;
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    if (argc != 2 || client == NULL || enet_initialize() != 0) return EXIT_FAILURE;
    ENetHost *server = make_host(&port);
    ENetHost *own = make_host(&unused);
    if (server == NULL || own == NULL) return EXIT_FAILURE;
    ENetAddress address = {.port = port};
    enet_address_set_host(&address, "127.0.0.1");
    enet_host_connect(own, &address, 1, 0);

    const uint64_t start = arbiter_now_ns();
    arbiter_client_connect(client, "127.0.0.1", (uint16_t)atoi(argv[1]), start);
    struct arbiter_view view = {0};
    int got = 0;
    while ((got != 3 || view.entity_count == 0) && arbiter_now_ns() - start < 120000000000U) {
        got |= serve(server) | serve(own) << 1;
        arbiter_client_poll(client, arbiter_now_ns());
        arbiter_client_sample(client, arbiter_now_ns(), &view);
    }
    printf("own ENet: %s; %u entities\n", got == 3 ? "both ways" : "failed",
           (unsigned)view.entity_count);
    enet_host_destroy(own);
    enet_host_destroy(server);
    enet_deinitialize();
    arbiter_client_destroy(client);
    return got == 3 && view.entity_count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
