/* The first half of json_parse by itself. For this folder and its tests. */
#ifndef CONFIG_JSON_INTERNAL_H
#define CONFIG_JSON_INTERNAL_H

#include "server/config/json.h"

/* Only the grammar: fills marks and mark_count (freed by json_free). */
bool json_scan(struct json *json, struct json_error *error);

#endif
