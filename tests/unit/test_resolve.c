/* Names of hosts: which of several addresses is taken. */
#define _GNU_SOURCE
#include "shared/client/arbiter_client_internal.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netdb.h>
#include <netinet/in.h>

enum { MOST = 3 };

/* The list that getaddrinfo would make of these, in this order. */
static struct {
    struct addrinfo found[MOST];
    struct sockaddr_in four[MOST];
    struct sockaddr_in6 six[MOST];
} list;

static int chosen_of(const char *const addresses[], int count)
{
    for (int i = 0; i < count; i++) {
        struct addrinfo *at = &list.found[i];
        *at = (struct addrinfo){.ai_next = i + 1 < count ? at + 1 : NULL};
        if (inet_pton(AF_INET6, addresses[i], &list.six[i].sin6_addr) == 1) {
            list.six[i].sin6_family = AF_INET6;
            at->ai_family = AF_INET6;
            at->ai_addr = (struct sockaddr *)&list.six[i];
            at->ai_addrlen = sizeof list.six[i];
        } else {
            cr_assert_eq(inet_pton(AF_INET, addresses[i], &list.four[i].sin_addr), 1);
            list.four[i].sin_family = AF_INET;
            at->ai_family = AF_INET;
            at->ai_addr = (struct sockaddr *)&list.four[i];
            at->ai_addrlen = sizeof list.four[i];
        }
    }
    return (int)(arb_client_chosen_address(list.found) - list.found);
}

Test(resolve, a_name_of_this_machine_is_its_ipv4_address_where_it_has_one)
{
    static const struct {
        const char *addresses[MOST];
        int count, chosen;
    } cases[] = {
        {{"::1", "127.0.0.1"}, 2, 1}, /* as Debian's /etc/hosts has localhost */
        {{"::1"}, 1, 0},
        {{"127.0.0.1", "::1"}, 2, 0},
        {{"::1", "::1", "127.0.0.1"}, 3, 2},
        {{"2001:db8::1", "192.0.2.1"}, 2, 0}, /* elsewhere the order of the system holds */
        {{"192.0.2.1", "2001:db8::1"}, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(chosen_of(cases[i].addresses, cases[i].count), cases[i].chosen, "case %zu", i);
    }
}

Test(resolve, a_numeric_address_stays_what_it_is)
{
    static const char *const addresses[] = {"127.0.0.1", "::1", "192.0.2.7", "2001:db8::7"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        char address[ARBITER_ADDRESS_BYTES] = "";
        cr_assert(arbiter_resolve(addresses[i], address));
        cr_expect_str_eq(address, addresses[i]);
    }
}
