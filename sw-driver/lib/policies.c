/* The list of policies. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* In order of their numbers. */
static const struct weir_policy_ops *const policies[] = {
	&weir_policy_drop_tail,
	&weir_policy_red,
	&weir_policy_dt_ecn,
	&weir_policy_isred,
	&weir_policy_fn,
	&weir_policy_ared,
	&weir_policy_pie,
	&weir_policy_codel,
	&weir_policy_pi2,
};

/* Other names; `flag` is the parameter that such a name turns on. */
static const struct {
	const char *name;
	int policy;
	const char *flag;
} aliases[] = {
	{ "droptail", WEIR_POLICY_DROP_TAIL, NULL },
	{ "drop-front", WEIR_POLICY_DROP_TAIL, "front" },
};

const struct weir_policy_info *weir_policy_at(size_t i)
{
	return i < WEIR_LENGTH(policies) ? &policies[i]->info : NULL;
}

const struct weir_policy_ops *weir_policy_of(int policy)
{
	for (size_t i = 0; i < WEIR_LENGTH(policies); i++)
		if (policies[i]->info.id == policy)
			return policies[i];
	return NULL;
}

int weir_no_policy(int policy)
{
	return weir_fail(WEIR_E_UNKNOWN, "policy number %d is not known; 0 is %s, %d is %s, the last", policy,
			 policies[0]->info.name, policies[WEIR_LENGTH(policies) - 1]->info.id,
			 policies[WEIR_LENGTH(policies) - 1]->info.name);
}

/* The policy of a name or alias, and the flag that it turns on. */
static int by_name(const char *name, const char **flag)
{
	char known[200] = "";
	size_t used = 0;

	*flag = NULL;
	for (size_t i = 0; i < WEIR_LENGTH(policies); i++) {
		if (name && !strcasecmp(name, policies[i]->info.name))
			return policies[i]->info.id;
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 policies[i]->info.name);
	}
	for (size_t i = 0; name && i < WEIR_LENGTH(aliases); i++)
		if (!strcasecmp(name, aliases[i].name)) {
			*flag = aliases[i].flag;
			return aliases[i].policy;
		}
	return weir_fail(WEIR_E_UNKNOWN, "policy '%.40s' is not known; choose one of %s", name ? name : "", known);
}

int weir_policy_by_name(const char *name)
{
	const char *flag;

	return by_name(name, &flag);
}

int weir_queue_defaults(int policy, struct weir_queue_config *config)
{
	if (!weir_policy_of(policy))
		return weir_no_policy(policy);
	memset(config, 0, sizeof(*config));
	config->policy = policy;
	for (size_t p = 0; p < WEIR_LENGTH(policies); p++) {
		const struct weir_row *row;

		for (size_t i = 0; (row = weir_row_at(policies[p]->info.id, i)); i++)
			weir_set_row(config, row, NAN);
	}
	return WEIR_OK;
}

int weir_queue_defaults_of(const char *policy, struct weir_queue_config *config)
{
	const char *flag;
	int number = by_name(policy, &flag);
	int status = number < 0 ? number : weir_queue_defaults(number, config);

	return status || !flag ? status : weir_queue_set(config, flag, NULL);
}

void weir_capabilities_full(struct weir_capabilities *caps)
{
	*caps = (struct weir_capabilities){
		.features = 1U << 16,
		.queues = 4,
		.data_width = 64,
		.cells = 16384,
		.cell_bytes = 64,
		.descriptors = 16384,
		.clock_hz = 156250000,
		.line_rate = 10e9,
		.link_rate = 10e9,
	};
	const struct weir_policy_info *info;

	for (size_t i = 0; (info = weir_policy_at(i)); i++)
		caps->features |= 1U << info->id;
}
