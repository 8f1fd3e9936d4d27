/* What a player's path to the server is like: named profiles and profile files, as links of
 * shared/transport/arb_link.h. Owns the numbers and the traces; pure functions of seed, client and
 * time, so that a simulator and a relay see the same network. Never holds the state of a link.
 * Called by arbiter-netsim, arbiter-sim and tests. tools/net/README.md has the table and the form
 * of a file.
 */
#ifndef NET_PROFILE_H
#define NET_PROFILE_H

#include "shared/base/arb_result.h"
#include "shared/transport/arb_link.h"
#include "tools/net/profile_text.h"

#include <stdint.h>

enum {
    /* Links change at multiples of this only: ask again that often. */
    PROFILE_STEP_US = 250 * 1000,
};

struct profile;

/* `name_or_file`: lan, good, average, bad, mobile, else the path of a profile file. ARB_DATA for a
 * bad one, or a file that cannot be read; *out is NULL then. Reads files only here. */
enum arb_result profile_load(const char *name_or_file, uint64_t seed, struct profile **out,
                             struct profile_error *error);
/* No link taken from it may be used any more. Accepts NULL. */
void profile_free(struct profile *profile);

/* "lan", ... or the file. Valid as long as the profile. */
const char *profile_name(const struct profile *profile);

/* Links of that client at that time: `up` is what it sends. Each client and direction changes on
 * its own. */
void profile_links_at(const struct profile *profile, uint32_t client, uint64_t time_us,
                      struct arb_link *up, struct arb_link *down);

#endif
