#include "server/loop/rerun_budget.h"

static const uint64_t second_ns = 1000000000U;

void rerun_budget_begin(struct rerun_budget *budget, uint32_t tick_rate)
{
    uint64_t share_ns = second_ns / tick_rate / 2;
    *budget = (struct rerun_budget){
        .share_ns = share_ns, .most_ns = share_ns * tick_rate, .left_ns = share_ns * tick_rate};
}

uint32_t rerun_budget_ticks(const struct rerun_budget *budget)
{
    if (budget->again_ns == 0) return UINT32_MAX;
    uint64_t ticks = budget->left_ns / budget->again_ns;
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

static uint64_t smoothed(uint64_t before, uint64_t newest)
{
    return before == 0 ? newest : (before * 7 + newest) / 8;
}

void rerun_budget_ran(struct rerun_budget *budget, uint64_t work_ns, uint64_t again)
{
    budget->left_ns += budget->share_ns;
    if (budget->left_ns > budget->most_ns) budget->left_ns = budget->most_ns;
    if (again == 0) {
        budget->plain_ns = smoothed(budget->plain_ns, work_ns);
        return;
    }
    uint64_t spent_ns = work_ns > budget->plain_ns ? work_ns - budget->plain_ns : 0;
    budget->left_ns -= spent_ns < budget->left_ns ? spent_ns : budget->left_ns;
    budget->again_ns = smoothed(budget->again_ns, spent_ns / again);
    if (budget->again_ns == 0) budget->again_ns = 1;
}
