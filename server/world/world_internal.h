/* Between the files of server/world and their tests. */
#ifndef WORLD_INTERNAL_H
#define WORLD_INTERNAL_H

#include "server/world/world.h"

/* Gives the body back; all its points become zero, so that equal states are equal bytes. */
void world_body_free(struct world *world, uint16_t body);

#endif
