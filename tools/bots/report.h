/* What arbiter-bots prints at its end: one JSON object, a line per client and the totals. Figures
 * of the server (consumed, starved, edges, ticks) are what it told the client.
 */
#ifndef BOTS_REPORT_H
#define BOTS_REPORT_H

#include "tools/bots/bot.h"

#include <stdio.h>

/* Clients and bots `count` each, in the same order. */
void report_print(FILE *out, struct arbiter_client *const *clients, struct bot *const *bots,
                  uint32_t count, const char *mode);

/* What came down to all of them, into the totals: by message type, and what the streams of the
 * snapshots consisted of, by entity kind and field. For report_print. */
struct cJSON;
void report_traffic(struct cJSON *totals, struct arbiter_client *const *clients, uint32_t count);

#endif
