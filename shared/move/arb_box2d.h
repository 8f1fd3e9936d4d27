/* Box2D is told once per process to take its memory through arb_mem, so that one counter sees every
 * allocation (spec/simulation.md "World state"). Whoever creates a Box2D object calls this before.
 * Thread-safe.
 */
#ifndef ARB_BOX2D_H
#define ARB_BOX2D_H

void arb_box2d_use_memory(void);

#endif
