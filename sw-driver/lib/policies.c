/* The list of policies. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Other names; `flag` is the parameter that such a name turns on. */
static const struct {
	const char *name;
	int policy;
	const char *flag;
} aliases[] = {
	{ "droptail", WEIR_POLICY_DROP_TAIL, NULL },
	{ "taildrop", WEIR_POLICY_DROP_TAIL, NULL },
	{ "tail-drop", WEIR_POLICY_DROP_TAIL, NULL },
	{ "drop-front", WEIR_POLICY_DROP_TAIL, "front" },
};

/* Queueing disciplines of tc that are no policy here, and what to use. */
static const struct {
	const char *names; /* with a blank after each */
	const char *here;
} elsewhere[] = {
	{ "pfifo ", "write drop-tail unit packets limit N" },
	{ "bfifo ", "write drop-tail limit BYTES" },
	{ "pfifo_head_drop ", "write drop-tail unit packets limit N front" },
	{ "tbf ", "the core's shaper does that: weirctl shape replace rate RATE burst SIZE" },
	{ "prio pfifo_fast ", "give the queue that goes first `strict`, with any policy; weirctl class fills it" },
	{ "ets ", "give queues `strict` or `quantum BYTES`, with any policy; weirctl class fills them" },
	{ "drr wrr ", "give queues `quantum BYTES`, with any policy; weirctl class fills them" },
	{ "htb hfsc cbq ", "classes have no rates of their own: weirctl shape limits the link, `quantum` shares it" },
	{ "gred wred ", "write red in a queue of its own for each class; weirctl class fills them" },
	{ "dualpi2 ", "it is two queues with pi2: each names the other in `coupled`, that of L4S is `low_latency`" },
	{ "fq_codel ", "no core has a queue per flow; codel is the same control law in one queue" },
	{ "fq_pie ", "no core has a queue per flow; pie is the same control law in one queue" },
	{ "cake ", "no core has a queue per flow; the nearest is weirctl shape replace rate RATE, and codel" },
	{ "fq sfq sfb choke hhf blue ", "no core has it; red, pie, codel and fn are the nearest" },
	{ "netem mq mqprio taprio noqueue ", "no core has it, and no policy stands for it" },
};

/* What to use instead of one of them; NULL if it is none. */
static const char *instead_of(const char *name)
{
	const size_t length = strlen(name);

	for (size_t i = 0; i < WEIR_LENGTH(elsewhere); i++)
		for (const char *at = elsewhere[i].names; *at; at += strcspn(at, " ") + 1)
			if (strcspn(at, " ") == length && !strncasecmp(at, name, length))
				return elsewhere[i].here;
	return NULL;
}

const struct weir_policy_info *weir_policy_at(size_t i)
{
	return i < weir_policy_count ? &weir_policies[i].info : NULL;
}

const struct weir_policy_entry *weir_policy_of(int policy)
{
	for (size_t i = 0; i < weir_policy_count; i++)
		if (weir_policies[i].info.id == policy)
			return &weir_policies[i];
	return NULL;
}

int weir_no_policy(int policy)
{
	return weir_fail(WEIR_E_UNKNOWN, "policy number %d is not known; 0 is %s, %d is %s, the last", policy,
			 weir_policies[0].info.name, weir_policies[weir_policy_count - 1].info.id,
			 weir_policies[weir_policy_count - 1].info.name);
}

/* The policy of a name or alias, and the flag that it turns on. */
static int by_name(const char *name, const char **flag)
{
	struct weir_guess guess = { NULL, 0 };
	const char *instead;
	char known[200] = "";
	size_t used = 0;

	*flag = NULL;
	if (!name)
		name = "";
	for (size_t i = 0; i < weir_policy_count; i++) {
		if (!strcasecmp(name, weir_policies[i].info.name))
			return weir_policies[i].info.id;
		weir_consider(&guess, name, weir_policies[i].info.name);
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 weir_policies[i].info.name);
	}
	for (size_t i = 0; i < WEIR_LENGTH(aliases); i++) {
		if (!strcasecmp(name, aliases[i].name)) {
			*flag = aliases[i].flag;
			return aliases[i].policy;
		}
		weir_consider(&guess, name, aliases[i].name);
	}
	instead = instead_of(name);
	if (instead)
		return weir_fail(WEIR_E_UNKNOWN, "policy '%s' is not there; %s", name, instead);
	if (guess.name)
		return weir_fail(WEIR_E_UNKNOWN, "policy '%.40s' is not known%s", name, weir_did_you_mean(&guess).s);
	return weir_fail(WEIR_E_UNKNOWN, "policy '%.40s' is not known; choose one of %s", name, known);
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
	for (size_t p = 0; p < weir_policy_count; p++) {
		const struct weir_row *row;

		for (size_t i = 0; (row = weir_row_at(weir_policies[p].info.id, i)); i++)
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
