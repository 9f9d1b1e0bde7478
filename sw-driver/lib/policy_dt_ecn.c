/* DT-ECN: Drop-Tail that marks ECT packets from a threshold on, θ = limit*utilisation/100. */
#include "internal.h"
#include "registers_policies.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES 2097151.0
/* θ is taken to 2^-20 of the unit, so that a decimal utilisation of a whole θ gives just that. */
#define FINEST 1048576.0

static const struct weir_row rows[] = {
	{ .parameter = { "utilisation", "%", WEIR_KIND_PERCENT, 0, 100, "50", NULL, "DT-ECN",
			 "threshold in per cent of the limit" },
	  .offset = WEIR_AT(dt_ecn.utilisation), .optional = true, .advice = "or give threshold instead" },
	{ .parameter = { "threshold", "queue unit", WEIR_KIND_AMOUNT, 0, MOST_BYTES, "limit*utilisation/100", NULL,
			 "DT-ECN",
			 "queue, with the arrival, from which ECT packets are marked; rounded up; over utilisation" },
	  .offset = WEIR_AT(dt_ecn.threshold), .span = WEIR_SPAN_BUFFER, .in_bytes = WEIR_IN_BYTES_THRESHOLD,
	  .advice = "or give utilisation instead" },
};

static const struct weir_register_name words[] = { { "DTECN_THRESHOLD", WEIR_Q_DTECN_THRESHOLD } };

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
	.info = { WEIR_POLICY_DT_ECN, "dt-ecn", "drops what does not fit, and marks ECT packets above a threshold",
		  "DT-ECN: Drop-Tail with a marking threshold" },
	WEIR_ROWS(rows),
	WEIR_WORDS(words),
	.named = named,
	.complete = complete,
	.check = check,
	.convert = convert,
	.convert_back = convert_back,
};
