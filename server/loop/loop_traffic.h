/* What went over the wire in a match, in the log at its end: by message type, and what the
 * snapshots consisted of by entity kind, so that a developer sees what to make smaller
 * (spec/replication.md "Must be shown"). By field: arbiter-bots --report.
 */
#ifndef LOOP_TRAFFIC_H
#define LOOP_TRAFFIC_H

#include "server/match/match.h"
#include "server/net/net.h"

void loop_log_traffic(const struct match *match, const struct arb_schema *schema,
                      const struct net *net);

#endif
