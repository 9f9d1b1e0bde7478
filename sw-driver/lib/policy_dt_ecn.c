/* DT-ECN: Drop-Tail that marks ECT packets from a threshold on, θ = limit*utilisation/100. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>
#include <string.h>

/* θ is taken to 2^-20 of the unit, so that a decimal utilisation of a whole θ gives just that. */
#define FINEST 1048576.0

static void named(struct weir_queue_config *config, const char *name)
{
	if (!strcmp(name, "threshold"))
		config->named |= WEIR_NAMED_THRESHOLD;
	else if (!strcmp(name, "utilisation") && !(config->named & WEIR_NAMED_THRESHOLD))
		config->dt_ecn.threshold = NAN; /* one that was read back gives way */
}

static int complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	struct weir_dt_ecn *own = &config->dt_ecn;
	double wanted;

	(void)caps;
	if (!isnan(own->threshold))
		return WEIR_OK;
	weir_fill(&own->utilisation, 50);
	wanted = weir_unit_limit(config) * own->utilisation / 100;
	own->threshold = ceil(round(wanted * FINEST) / FINEST);
	return WEIR_OK;
}

static int check(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	(void)caps;
	return weir_check_range("threshold", config->dt_ecn.threshold, 0, weir_unit_limit(config),
				weir_unit_name(config->unit), "it may not pass the limit; lower it or raise limit");
}

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	weir_put(r, WEIR_Q_DTECN_THRESHOLD, (uint32_t)ceil(config->dt_ecn.threshold));
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	(void)caps;
	config->dt_ecn.threshold = fmin(weir_take(r, WEIR_Q_DTECN_THRESHOLD), weir_unit_limit(config));
}

const struct weir_policy_ops weir_policy_dt_ecn = {
	.named = named,
	.complete = complete,
	.check = check,
	.convert = convert,
	.convert_back = convert_back,
};
